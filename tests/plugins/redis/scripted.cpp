#include "scripted.h"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace canopy::test {
namespace {

/// Takes a command from the front of the bytes: an array of strings. False: not all of it is there.
bool take_command(std::string& bytes, std::vector<std::string>& words) {
  words.clear();
  std::size_t at = 0;
  const auto number = [&](char begin) -> std::int64_t {
    const std::size_t end = bytes.find("\r\n", at);
    if (end == std::string::npos || bytes[at] != begin) return -1;
    const std::int64_t value = std::atoll(bytes.c_str() + at + 1);
    at = end + 2;
    return value;
  };
  const std::int64_t count = number('*');
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t size = number('$');
    if (size < 0 || bytes.size() < at + static_cast<std::size_t>(size) + 2) return false;
    words.push_back(bytes.substr(at, static_cast<std::size_t>(size)));
    at += static_cast<std::size_t>(size) + 2;
  }
  if (count <= 0) return false;
  bytes.erase(0, at);
  return true;
}

std::string whole(std::int64_t number) { return ":" + std::to_string(number) + "\r\n"; }

}  // namespace

ScriptedServer::ScriptedServer(Script script) : script_(std::move(script)) { start(); }

void ScriptedServer::start() {
  listener_.reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  ::setsockopt(listener_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET, address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port_));
  socklen_t size = sizeof address;
  REQUIRE(::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), size) == 0);
  REQUIRE(::listen(listener_.get(), 16) == 0);
  REQUIRE(::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0);
  port_ = ntohs(address.sin_port);
  ends_ = false;
  thread_ = std::thread([this] { run(); });
}

void ScriptedServer::stop() {
  ends_ = true;
  if (thread_.joinable()) thread_.join();
  listener_.reset();
}

void ScriptedServer::script(Script script) {
  const std::lock_guard lock(mutex_);
  script_ = std::move(script);
}

std::uint64_t ScriptedServer::received(const std::string& command) const {
  const std::lock_guard lock(mutex_);
  const auto found = received_.find(command);
  return found == received_.end() ? 0 : found->second;
}

std::size_t ScriptedServer::records() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(std::count_if(
      kept_.begin(), kept_.end(), [](const auto& one) { return one.first.find("epoch") == std::string::npos; }));
}

void ScriptedServer::change(const std::function<void(std::string&)>& how) {
  const std::lock_guard lock(mutex_);
  for (auto& [name, value] : kept_)
    if (name.find("epoch") == std::string::npos) how(value);
}

void ScriptedServer::run() {
  std::vector<Client> clients;
  while (!ends_) {
    std::vector<pollfd> waits{{listener_.get(), POLLIN, 0}};
    for (const Client& client : clients) waits.push_back({client.socket.get(), POLLIN, 0});
    if (::poll(waits.data(), waits.size(), 10) <= 0) continue;
    for (std::size_t i = waits.size(); i-- > 1;)
      if (waits[i].revents != 0 && !serve(clients[i - 1]))
        clients.erase(clients.begin() + static_cast<std::ptrdiff_t>(i - 1));
    if (waits[0].revents != 0) {
      clients.emplace_back();
      clients.back().socket.reset(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    }
  }
}

bool ScriptedServer::serve(Client& client) {
  char bytes[65536];
  const ssize_t got = ::recv(client.socket.get(), bytes, sizeof bytes, 0);
  if (got <= 0) return false;
  client.unread.append(bytes, static_cast<std::size_t>(got));
  std::string answers;
  const std::lock_guard lock(mutex_);
  for (Received received; take_command(client.unread, received.words);) {
    received.asking = std::exchange(client.asking, received.words[0] == "ASKING");
    ++received_[received.words[0]];
    const auto scripted = script_ ? script_(received) : std::nullopt;
    if (scripted == kHangUp) return false;
    answers += scripted ? *scripted : answer(received);
  }
  return answers.empty() || ::send(client.socket.get(), answers.data(), answers.size(), MSG_NOSIGNAL) >= 0;
}

std::string ScriptedServer::answer(const Received& received) {
  const std::vector<std::string>& words = received.words;
  if (words[0] == "CLUSTER") return "*0\r\n";
  if (words[0] == "ASKING") return "+OK\r\n";
  if (words[0] == "SET") {
    const bool never_over = std::find(words.begin() + 3, words.end(), "NX") != words.end();
    if (never_over && kept_.contains(words[1])) return "$-1\r\n";
    kept_[words[1]] = words[2];
    return "+OK\r\n";
  }
  if (words[0] == "GET") {
    const auto found = kept_.find(words[1]);
    if (found == kept_.end()) return "$-1\r\n";
    return "$" + std::to_string(found->second.size()) + "\r\n" + found->second + "\r\n";
  }
  std::int64_t count = 0;
  for (std::size_t i = 1; i < words.size(); ++i)
    count += static_cast<std::int64_t>(words[0] == "UNLINK" ? kept_.erase(words[i]) : kept_.count(words[i]));
  return whole(count);
}

}  // namespace canopy::test
