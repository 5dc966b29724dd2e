#include "token.h"

#include <openssl/crypto.h>
#include <openssl/rand.h>

#include <stdexcept>

namespace canopy::inspector {

std::string make_token() {
  unsigned char bytes[16];
  if (RAND_bytes(bytes, sizeof(bytes)) != 1) throw std::runtime_error("the system has no random numbers");
  std::string token;
  for (const unsigned char byte : bytes) {
    token += "0123456789abcdef"[byte >> 4];
    token += "0123456789abcdef"[byte & 15];
  }
  return token;
}

bool same_token(std::string_view secret, std::string_view given) {
  if (secret.empty() || secret.size() != given.size()) return false;
  return CRYPTO_memcmp(secret.data(), given.data(), given.size()) == 0;
}

}  // namespace canopy::inspector
