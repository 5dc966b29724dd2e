#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace canopy {

/// Decides which requests a browser may send here. A page of another site can send its own requests to this server, and
/// can let its own name lead to this machine (DNS rebinding). Both are visible in Host and Origin, which no page can
/// change.
class HostCheck {
 public:
  /// `listen`: the address on which the server listens. `names`: other names of the server, those of a proxy.
  HostCheck(std::string_view listen, std::vector<std::string> names);

  /// Returns true if a request with this Host may be answered: a loopback address, localhost, the address on which the
  /// server listens, or one of its other names. `local` is the address to which the client connected, which counts if
  /// the server listens on all addresses. The port may be any, since a tunnel has its own: a foreign site is recognised
  /// by its name.
  bool allows(std::string_view host, std::string_view local) const;

 private:
  std::string listen_;
  bool wildcard_ = false;
  std::vector<std::string> names_;
};

/// Returns true if a page with this Origin was loaded from this Host.
bool is_same_origin(std::string_view origin, std::string_view host);
/// Returns an error message, to follow "--host"; empty if the name is valid.
std::string flaw_of_host(std::string_view name);

}  // namespace canopy
