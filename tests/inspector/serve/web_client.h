#pragma once

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <serve/protocol.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <bit>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace canopy::test {

/// Returns true if `fact` becomes true within ten seconds; calls it every 2 ms.
template <class Fact>
bool soon(Fact&& fact) {
  for (int tries = 0; tries < 5'000; ++tries) {
    if (fact()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return false;
}

/// A client of plain sockets, which can also send what no browser sends.
class WebClient {
 public:
  /// `receive_buffer`: bytes; 0: as many as the system gives.
  explicit WebClient(int port, int receive_buffer = 0) : port_(port) {
    socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    REQUIRE(socket_ >= 0);
    if (receive_buffer) ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof(receive_buffer));
    wait_at_most(std::chrono::seconds(10));
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(port));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof(to)) == 0);
  }
  ~WebClient() { ::close(socket_); }
  WebClient(const WebClient&) = delete;

  void wait_at_most(std::chrono::milliseconds time) {
    const timeval limit{time.count() / 1000, static_cast<suseconds_t>(time.count() % 1000 * 1000)};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  }
  /// Returns false if the server has closed the connection.
  bool send(std::string_view bytes) {
    return ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
  }
  /// Receives more. Returns false at the end of the connection, and after the longest wait.
  bool more() {
    char part[65536];
    const ssize_t got = ::recv(socket_, part, sizeof(part), 0);
    if (got > 0) in_.append(part, static_cast<std::size_t>(got));
    return got > 0;
  }
  /// Returns what has come.
  std::string taken() { return std::exchange(in_, {}); }
  /// Returns all that comes up to the end.
  std::string rest() {
    while (more()) {
    }
    return std::move(in_);
  }

  std::string host() const { return fmt::format("127.0.0.1:{}", port_); }
  /// Sends a request with "Connection: close", and returns the whole answer.
  std::string ask(const std::string& line, const std::string& headers = "") {
    send(line + " HTTP/1.1\r\nHost: " + host() + "\r\nConnection: close\r\n" + headers + "\r\n");
    return rest();
  }

  /// Makes a websocket. Returns the status, such as 101.
  int upgrade(const std::string& headers = "", const std::string& host = "", const std::string& path = "/feed") {
    send("GET " + path + " HTTP/1.1\r\nHost: " + (host.empty() ? this->host() : host) +
         "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
         "Sec-WebSocket-Version: 13\r\n" +
         headers + "\r\n");
    while (in_.find("\r\n\r\n") == std::string::npos)
      if (!more()) return 0;
    const int status = std::stoi(in_.substr(9, 3));
    in_.erase(0, in_.find("\r\n\r\n") + 4);
    return status;
  }

  /// Returns a frame with a mask, as a client sends it.
  static std::string frame(int opcode, std::string_view payload) {
    std::string bytes(1, static_cast<char>(0x80 | opcode));
    if (payload.size() < 126) {
      bytes += static_cast<char>(0x80 | payload.size());
    } else {
      bytes += static_cast<char>(0x80 | 126);
      bytes += static_cast<char>(payload.size() >> 8);
      bytes += static_cast<char>(payload.size() & 255);
    }
    const std::string_view mask = "\x11\x22\x33\x44";
    bytes += mask;
    for (std::size_t i = 0; i < payload.size(); ++i) bytes += static_cast<char>(payload[i] ^ mask[i % 4]);
    return bytes;
  }
  bool say(std::string_view text) { return send(frame(1, text)); }
  bool send(const Command& command) {
    return send(frame(2, {reinterpret_cast<const char*>(&command), sizeof(command)}));
  }

  struct Frame {
    int opcode = 0;  ///< 1: text; 2: bytes; 8: close; 9: ping
    std::string payload;
    int close_code() const {
      return payload.size() < 2 ? 0
                                : static_cast<unsigned char>(payload[0]) << 8 | static_cast<unsigned char>(payload[1]);
    }
  };
  /// Returns the next frame; nothing at the end of the connection, and after the longest wait.
  std::optional<Frame> next() {
    const auto need = [this](std::size_t bytes) {
      while (in_.size() - at_ < bytes)
        if (!more()) return false;
      return true;
    };
    const auto byte = [this](std::size_t i) -> std::size_t { return static_cast<unsigned char>(in_[at_ + i]); };
    if (!need(2)) return {};
    std::size_t size = byte(1) & 127, head = 2;
    const std::size_t wide = size == 126 ? 2 : size == 127 ? 8 : 0;
    if (!need(head + wide)) return {};
    if (wide) size = 0;
    for (std::size_t i = 0; i < wide; ++i) size = size << 8 | byte(head++);
    if (!need(head + size)) return {};
    Frame frame{static_cast<int>(byte(0) & 15), in_.substr(at_ + head, size)};
    CHECK(size <= inspector::protocol::kMostBytes);
    at_ += head + size;
    if (at_ > (std::size_t{4} << 20) || at_ == in_.size()) in_.erase(0, at_), at_ = 0;
    return frame;
  }

 private:
  int port_, socket_ = -1;
  std::string in_;
  std::size_t at_ = 0;  ///< bytes of in_ that were taken
};

}  // namespace canopy::test
