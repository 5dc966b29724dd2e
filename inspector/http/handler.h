#pragma once

#include <canopy/base/file.h>
#include <canopy/base/host_check.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace canopy::http {

using Clock = std::chrono::steady_clock;

/// The parts of a request on which its answer depends. Headers are empty if absent.
struct Request {
  std::string_view method, target, host, accept_encoding, authorization;
  std::size_t hosts = 1;                    ///< number of its Host headers
  bool http_1_0 = false;                    ///< true for HTTP/1.0, which needs no Host
  std::vector<std::string_view> origins{};  ///< values of all Origin headers
  bool upgrade = false;                     ///< true for the handshake of a websocket
  std::string local{};                      ///< address of this machine to which the client connected

  std::string_view path() const { return target.substr(0, target.find('?')); }
  bool reads() const { return method == "GET" || method == "HEAD"; }
  /// Returns true if the request has one Host, which is the server's.
  bool is_for(const HostCheck& server) const { return hosts == 1 && server.allows(host, local); }
};

/// The answer to a request: a text, bytes or a file. Status 101 makes a websocket of the connection.
struct Answer {
  unsigned status = 200;
  std::string text{};
  std::string_view type = "text/plain; charset=utf-8";  ///< value of Content-Type; REQUIRES: it outlives the server
  std::span<const unsigned char> bytes{};               ///< sent if there is no text; REQUIRES: they outlive the server
  bool gzip = false;                                    ///< true if the bytes are compressed with gzip
  UniqueFd file{};                                      ///< owns nothing unless a file is sent
  std::uint64_t file_bytes = 0;
};

/// A message to a client.
struct Message {
  bool text = false;
  const void* data = nullptr;
  std::size_t bytes = 0;
};

/// The reason why a websocket is closed.
struct Close {
  std::uint16_t code = 0;  ///< code of the close frame (RFC 6455)
  std::string reason;      ///< at most 123 bytes
};

/// This program's end of a websocket.
class Session {
 public:
  virtual ~Session() = default;
  /// Takes a message from the client.
  virtual void take_text(std::string_view text, Clock::time_point now) = 0;
  virtual void take_bytes(std::span<const std::byte> bytes) = 0;
  /// Returns the next message, which stays valid until sent(); nothing if there is none or the last one is not sent.
  virtual std::optional<Message> next() = 0;
  virtual void sent() = 0;
  /// Returns the reason why the websocket must be closed; nothing while it stays open.
  virtual const std::optional<Close>& closing() const = 0;
};

/// Decides what a server sends. Called by the thread that runs the server. REQUIRES: no function throws.
class Handler {
 public:
  virtual ~Handler() = default;
  virtual Answer answer(const Request& request) = 0;
  /// Begins the session of a websocket. REQUIRES: the result is not null if answer() returns status 101.
  virtual std::unique_ptr<Session> begin_session([[maybe_unused]] Clock::time_point now) { return nullptr; }
  /// Called every 10 ms while there is a session, before the messages of sessions are sent.
  virtual void step([[maybe_unused]] Clock::time_point now) {}
};

}  // namespace canopy::http
