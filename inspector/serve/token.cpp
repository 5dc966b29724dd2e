#include "token.h"

#include <canopy/base/file.h>
#include <canopy/base/printable.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
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

Result<std::string> kept_token(const std::string& path) {
  const auto flaw = [&](const std::string& why) { return Error{printable(path) + ": " + why}; };
  if (const UniqueFd made(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)); made) {
    std::string token = make_token();
    const std::string line = token + "\n";
    if (::write(made.get(), line.data(), line.size()) == static_cast<ssize_t>(line.size())) return token;
    const int why = errno;
    ::unlink(path.c_str());
    return flaw(fmt::format("the token cannot be written: {}", std::strerror(why)));
  }
  const int why_not_made = errno;
  const OpenedFile file = open_regular(path);
  if (!file.descriptor)
    return flaw(file.error == 0        ? fmt::format("it is {}; expected a file", kind_of(file.facts.st_mode))
                : file.error == ENOENT ? fmt::format("it cannot be made: {}", std::strerror(why_not_made))
                                       : std::strerror(file.error));
  if (const unsigned mode = file.facts.st_mode & 0777U; (mode & 077U) != 0)
    return flaw(fmt::format("its mode is {:04o}; expected that only its owner can read it (chmod 600)", mode));
  constexpr std::size_t kLeast = 32, kMost = 128;
  char bytes[kMost + 2];
  const ssize_t got = ::read(file.descriptor.get(), bytes, sizeof(bytes));
  std::string token(bytes, static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  while (token.ends_with('\n') || token.ends_with('\r')) token.pop_back();
  const bool plain = std::ranges::all_of(token, [](unsigned char c) { return c < 128 && std::isalnum(c) != 0; });
  if (!plain || token.size() < kLeast || token.size() > kMost)
    return flaw("this is no token; expected a line of 32 to 128 letters and digits");
  return token;
}

bool same_token(std::string_view secret, std::string_view given) {
  if (secret.empty() || secret.size() != given.size()) return false;
  return CRYPTO_memcmp(secret.data(), given.data(), given.size()) == 0;
}

}  // namespace canopy::inspector
