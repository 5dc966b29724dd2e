#include <canopy/base/sha256.h>

// OpenSSL 3 recommends EVP instead. But a block takes only two rounds of SHA-256, and EVP adds at least a third: 168 to
// 219 ns for a page of 16 tokens, where these functions take 123 ns.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>

#include <stdexcept>

namespace canopy {

Sha256 sha256(std::string_view first, std::string_view second) {
  Sha256 digest;
  static_assert(sizeof digest == SHA256_DIGEST_LENGTH);
  SHA256_CTX state;
  if (SHA256_Init(&state) != 1 || SHA256_Update(&state, first.data(), first.size()) != 1 ||
      SHA256_Update(&state, second.data(), second.size()) != 1 || SHA256_Final(digest.data(), &state) != 1)
    throw std::runtime_error("OpenSSL cannot compute SHA-256");
  return digest;
}

}  // namespace canopy
