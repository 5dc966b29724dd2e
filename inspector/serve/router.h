#pragma once

#include <canopy/base/host_check.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "page_files.h"
#include "service.h"

namespace canopy::inspector {

/// The parts of a request on which its answer depends. Headers are empty if absent.
struct WebRequest {
  std::string_view method, target, host, accept_encoding, authorization;
  bool one_host = true;                     ///< false if there is no Host, or more than one
  std::vector<std::string_view> origins{};  ///< values of all Origin headers
  bool upgrade = false;                     ///< true for the handshake of a websocket
  std::string local;                        ///< address of this machine to which the client connected
};

/// The answer to a request.
struct WebAnswer {
  enum class Kind : std::uint8_t { sentence, file, recording, websocket };
  Kind kind = Kind::sentence;
  unsigned status = 200;
  std::string_view sentence{};     ///< text for people
  const PageFile* file = nullptr;  ///< may be null (no file is sent)
};

/// Decides the answer to each request of HTTP, as protocol.h describes them.
class Router {
 public:
  /// REQUIRES: the files and the service outlive the router.
  Router(HostCheck hosts, std::span<const PageFile> files, const Service& service)
      : hosts_(std::move(hosts)), files_(files), service_(service) {}
  WebAnswer answer(const WebRequest& request) const;

 private:
  HostCheck hosts_;
  std::span<const PageFile> files_;
  const Service& service_;
};

/// Returns true if a client with this Accept-Encoding takes gzip.
bool takes_gzip(std::string_view accept_encoding);

/// A header of every answer.
struct WebHeader {
  const char *name, *value;
};
/// The page loads nothing from elsewhere, and no other site can show or read it.
inline constexpr WebHeader kWebHeaders[] = {
    {"Content-Security-Policy",
     "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; connect-src 'self'; "
     "img-src 'self' data: blob:; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
    {"Cache-Control", "no-store"},
    {"X-Content-Type-Options", "nosniff"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
};

}  // namespace canopy::inspector
