#pragma once

#include <canopy/base/result.h>
#include <http/server.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "page_files.h"
#include "protocol.h"
#include "router.h"
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

/// The server of `canopy serve`: HTTP and websockets (protocol.h), on the thread that calls run_for(). A client that
/// is silent, slow or malformed costs its own connection only.
class WebServer {
 public:
  /// Opens a server. The error names the address, the reason, and what to do.
  static Result<std::unique_ptr<WebServer>> open(WebSettings settings, Served served);
  WebServer(const WebServer&) = delete;

  int port() const { return server_->port(); }
  /// Serves for this long.
  void run_for(std::chrono::milliseconds time) { server_->run_for(time); }

 private:
  WebServer(WebSettings& settings, Served served);

  Service service_;
  Router router_;
  std::unique_ptr<http::Server> server_;  ///< last: its end ends the sessions, which use the service
};

}  // namespace canopy::inspector
