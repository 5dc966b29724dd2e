#pragma once

#include <http/handler.h>
#include <http/server.h>

#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "page_files.h"
#include "service.h"

namespace canopy::inspector {

/// Decides the answer to each request of HTTP, as protocol.h describes them. Status 101: the websocket of a feed.
class Router final : public http::Handler {
 public:
  /// REQUIRES: the files and the service outlive the router.
  Router(HostCheck hosts, std::span<const PageFile> files, Service& service)
      : hosts_(std::move(hosts)), files_(files), service_(service) {}
  http::Answer answer(const http::Request& request) override;
  std::unique_ptr<http::Session> begin_session(http::Clock::time_point now) override { return service_.open(now); }
  void step(http::Clock::time_point now) override { service_.step(now); }

 private:
  HostCheck hosts_;
  std::span<const PageFile> files_;
  Service& service_;
};

/// Returns true if a client with this Accept-Encoding takes gzip.
bool takes_gzip(std::string_view accept_encoding);

/// Headers of every answer: the page loads nothing from elsewhere, and no other site can show or read it.
inline constexpr http::Header kWebHeaders[] = {
    {"Content-Security-Policy",
     "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; connect-src 'self'; "
     "img-src 'self' data: blob:; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
    {"Cache-Control", "no-store"},
    {"X-Content-Type-Options", "nosniff"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
};

}  // namespace canopy::inspector
