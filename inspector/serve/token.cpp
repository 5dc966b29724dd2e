#include "token.h"

#include <sys/random.h>

#include <cerrno>
#include <cstddef>
#include <system_error>

namespace canopy::inspector {

std::string make_token() {
  unsigned char bytes[16];
  for (std::size_t have = 0; have < sizeof(bytes);) {
    const ssize_t got = ::getrandom(bytes + have, sizeof(bytes) - have, 0);
    if (got > 0) have += static_cast<std::size_t>(got);
    else if (errno != EINTR)
      throw std::system_error(errno, std::generic_category(), "the system has no random numbers");
  }
  std::string token;
  for (const unsigned char byte : bytes) {
    token += "0123456789abcdef"[byte >> 4];
    token += "0123456789abcdef"[byte & 15];
  }
  return token;
}

bool same_token(std::string_view secret, std::string_view given) {
  if (secret.empty()) return false;
  int differs = secret.size() == given.size() ? 0 : 1;
  for (std::size_t i = 0; i < given.size(); ++i) differs |= secret[i % secret.size()] ^ given[i];
  return differs == 0;
}

}  // namespace canopy::inspector
