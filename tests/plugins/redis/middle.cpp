#include "middle.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <utility>
#include <vector>

namespace canopy::test {

namespace {

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  return address;
}

bool send_all(int to, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(to, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

}  // namespace

Middle::Middle(const std::string& server)
    : server_(server), path_(server + "-middle"), listener_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  const sockaddr_un address = address_of(path_);
  static_cast<void>(::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address));
  static_cast<void>(::listen(listener_.get(), 64));
  thread_ = std::thread([this] { run(); });
}

Middle::~Middle() {
  ends_ = true;
  thread_.join();
}

bool Middle::answer(int client, std::string_view bytes, bool& silent) {
  if (silent) return true;
  std::string changed(bytes);
  switch (harm_.load()) {
    case Harm::none:
      break;
    case Harm::dribble:
      for (; !bytes.empty() && changed.size() - bytes.size() < 300; bytes.remove_prefix(1)) {
        std::this_thread::sleep_for(std::chrono::microseconds(20));
        if (!send_all(client, bytes.substr(0, 1))) return false;
      }
      return send_all(client, bytes);
    case Harm::flip:
      for (char& byte : changed)
        if (random_.one_in(1000)) byte = static_cast<char>(byte ^ (1 << random_.below(8)));
      break;
    case Harm::truncate:
      send_all(client, bytes.substr(0, bytes.size() / 2));
      return false;
    case Harm::nonsense:
      changed = "HTTP/1.1 400 Bad Request\r\n\r\n";
      break;
    case Harm::silence:
      silent = true;
      return true;
  }
  return send_all(client, changed);
}

void Middle::run() {
  struct Pair {
    UniqueFd client, server;
    bool silent = false;
  };
  std::vector<Pair> pairs;
  std::vector<char> bytes(256 << 10);
  while (!ends_) {
    std::vector<pollfd> watched{{listener_.get(), POLLIN, 0}};
    for (const Pair& pair : pairs) {
      watched.push_back({pair.client.get(), POLLIN, 0});
      watched.push_back({pair.server.get(), POLLIN, 0});
    }
    ::poll(watched.data(), watched.size(), 10);
    for (std::size_t i = pairs.size(); i-- > 0;) {
      const bool from_client = watched[1 + 2 * i].revents != 0, from_server = watched[2 + 2 * i].revents != 0;
      bool open = true;
      for (const bool client : {true, false}) {
        if (!(client ? from_client : from_server) || !open) continue;
        const ssize_t got = ::recv((client ? pairs[i].client : pairs[i].server).get(), bytes.data(), bytes.size(), 0);
        const std::string_view view(bytes.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
        open = got > 0 &&
               (client ? send_all(pairs[i].server.get(), view) : answer(pairs[i].client.get(), view, pairs[i].silent));
      }
      if (!open) pairs.erase(pairs.begin() + static_cast<std::ptrdiff_t>(i));
    }
    if (watched[0].revents == 0) continue;
    Pair pair{UniqueFd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)),
              UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0))};
    const sockaddr_un address = address_of(server_);
    if (::connect(pair.server.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
      pairs.push_back(std::move(pair));
  }
}

}  // namespace canopy::test
