/// A server that says of every name that it lies elsewhere, and means itself.
#include <arpa/inet.h>
#include <canopy/support/file.h>
#include <doctest/doctest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "storage.h"

using namespace canopy;
using namespace canopy::test;

namespace {

/// Answers CLUSTER with an empty map, and all else with MOVED.
class EverMoved {
 public:
  EverMoved() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET, address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    REQUIRE(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), size) == 0);
    REQUIRE(::listen(listener_.get(), 16) == 0);
    REQUIRE(::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0);
    address_ = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    thread_ = std::thread([this] { run(); });
  }
  ~EverMoved() {
    ends_ = true;
    thread_.join();
  }
  const std::string& address() const { return address_; }
  std::uint64_t moved() const { return moved_; }

 private:
  void run() {
    std::vector<UniqueFd> clients;
    while (!ends_) {
      std::vector<pollfd> waits{{listener_.get(), POLLIN, 0}};
      for (const UniqueFd& client : clients) waits.push_back({client.get(), POLLIN, 0});
      if (::poll(waits.data(), waits.size(), 20) <= 0) continue;
      for (std::size_t i = waits.size(); i-- > 1;)
        if (waits[i].revents != 0 && !answer(clients[i - 1].get()))
          clients.erase(clients.begin() + static_cast<std::ptrdiff_t>(i - 1));
      if (waits[0].revents != 0) clients.emplace_back(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    }
  }
  /// Each command is an array, and nothing else in it begins with '*'.
  bool answer(int client) {
    char bytes[65536];
    const ssize_t got = ::recv(client, bytes, sizeof bytes, 0);
    if (got <= 0) return false;
    const std::string_view text(bytes, static_cast<std::size_t>(got));
    std::string replies;
    for (std::size_t at = text.find('*'); at != text.npos; at = text.find('*', at + 1)) {
      const std::string_view command = text.substr(at, text.find('*', at + 1) - at);
      if (command.find("CLUSTER") != command.npos) replies += "*0\r\n";
      else ++moved_, replies += "-MOVED 1 " + address_ + "\r\n";
    }
    return ::send(client, replies.data(), replies.size(), MSG_NOSIGNAL) >= 0;
  }

  UniqueFd listener_;
  std::string address_;
  std::atomic<std::uint64_t> moved_ = 0;
  std::atomic<bool> ends_ = false;
  std::thread thread_;
};

}  // namespace

TEST_CASE("what is moved again and again is followed a few times, and then it has failed") {
  EverMoved server;
  const CapturedStderr captured;
  const auto caller = caller_at(server.address(), 8192, "cluster: true");
  const auto call = caller->wait(caller->get(kSpace, blocks_of(1, 1), 2'000'000));
  CHECK(call.fates == std::vector<Fate>{Fate::failed});  // and not late
  // The epoch is asked for with two commands, and the record with one: six times each.
  CHECK(server.moved() <= 3 * 6);
}
