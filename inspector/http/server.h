#pragma once

#include <canopy/base/result.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "handler.h"

namespace canopy::http {

/// A header of every answer.
struct Header {
  const char *name, *value;
};

struct Settings {
  std::string listen = "127.0.0.1";  ///< IP address of this machine
  std::uint16_t port = 0;            ///< 0: any free port
  /// Time from the first byte of a request to the end of its headers, and between two requests.
  std::chrono::milliseconds request{10000};
  /// Time for a client to take an answer; of a websocket without a message or a pong (a ping is sent after half of it).
  std::chrono::milliseconds idle{60000};
  std::size_t connections = 256;
  /// True if a connection carries one request, and makes room for a new one also while its client takes the answer.
  bool one_request = false;
  std::span<const Header> headers{};  ///< REQUIRES: they outlive the server
};

/// HTTP/1.1 and websockets over TCP, without encryption. A client that is silent, slow or malformed costs its own
/// connection only. If there are as many connections as there may be, the one for whose request the server has waited
/// longest is closed for a new one.
class Server {
 public:
  static constexpr std::size_t kMostHead = 8192;     ///< bytes of a request's line and headers
  static constexpr std::size_t kMostMessage = 4096;  ///< bytes of a websocket's message from a client

  /// Listens. The error names the address, the reason, and what to do. REQUIRES: the handler outlives the server.
  static Result<std::unique_ptr<Server>> open(Settings settings, Handler& handler);
  ~Server();
  Server(const Server&) = delete;

  int port() const;
  /// Serves for this long.
  void run_for(std::chrono::milliseconds time);
  /// Serves until stop(), which another thread may call.
  void run();
  void stop();

 private:
  struct Parts;
  explicit Server(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

/// Returns true if the address means every address of the machine. Returns an error if it is no address.
Result<bool> is_every_address(const std::string& listen);
/// Returns an address and a port as they stand in a URL: 127.0.0.1:80, [::1]:80.
std::string place_of(const std::string& address, int port);

}  // namespace canopy::http
