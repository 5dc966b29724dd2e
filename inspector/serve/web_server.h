#pragma once

#include <canopy/base/result.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "page_files.h"
#include "protocol.h"
#include "service.h"

namespace canopy::inspector {

struct WebSettings {
  std::string listen = "127.0.0.1";  ///< IP address of this machine
  std::uint16_t port = 0;            ///< 0: any free port
  std::vector<std::string> hosts;    ///< other names of the server, those of a proxy
  std::string token;                 ///< as from make_token()
  std::span<const PageFile> files;   ///< REQUIRES: they outlive the server
  protocol::Limits limits{};
};

/// The sockets of `canopy serve`: HTTP and websockets (protocol.h), on the thread that calls run_for(). A client that
/// is silent, slow or malformed costs its own connection only.
class WebServer {
 public:
  /// Opens a server. The error names the address, the reason, and what to do.
  static Result<std::unique_ptr<WebServer>> open(WebSettings settings, Served served);
  ~WebServer();
  WebServer(const WebServer&) = delete;

  int port() const;
  /// Serves for this long.
  void run_for(std::chrono::milliseconds time);

 private:
  struct Parts;
  explicit WebServer(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

/// Returns true if the address means every address of the machine. Returns an error if it is no address.
Result<bool> is_every_address(const std::string& listen);

}  // namespace canopy::inspector
