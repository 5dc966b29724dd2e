#include "web_server.h"

#include <utility>

namespace canopy::inspector {

WebServer::WebServer(WebSettings& settings, Served served)
    : service_(std::move(served), std::move(settings.token), settings.limits),
      router_(HostCheck(settings.listen, std::move(settings.hosts)), settings.files, service_) {}

Result<std::unique_ptr<WebServer>> WebServer::open(WebSettings settings, Served served) {
  std::unique_ptr<WebServer> made(new WebServer(settings, std::move(served)));
  auto server = http::Server::open({.listen = std::move(settings.listen),
                                    .port = settings.port,
                                    .request = settings.limits.request,
                                    .idle = settings.limits.idle,
                                    .connections = settings.limits.connections,
                                    .headers = kWebHeaders},
                                   made->router_);
  if (!server) return server.error();
  made->server_ = std::move(*server);
  return made;
}

}  // namespace canopy::inspector
