/// A build without OpenSSL. It has no KV events, and an engine with a storage tier is refused, so nothing calls this.
#include <canopy/base/sha256.h>

#include <stdexcept>

namespace canopy {

Sha256 sha256(std::string_view, std::string_view) { throw std::logic_error("this build has no OpenSSL for SHA-256"); }

}  // namespace canopy
