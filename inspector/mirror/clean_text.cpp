#include "clean_text.h"

#include <cstdint>

namespace canopy::inspector {
namespace {

/// Bytes of the character that begins here; 0: it is no UTF-8.
std::size_t length_of(std::string_view text, std::uint32_t& code) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const std::size_t length = byte(0) < 0x80 ? 1 : byte(0) < 0xC2 ? 0 : byte(0) < 0xE0 ? 2 : byte(0) < 0xF0 ? 3 : 4;
  if (length == 0 || length > text.size() || byte(0) > 0xF4) return 0;
  code = length == 1 ? byte(0) : byte(0) & (0x7FU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3FU);
  }
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  return code >= kLeast[length] && code < 0x110000 && (code < 0xD800 || code > 0xDFFF) ? length : 0;
}

bool shows(std::uint32_t code) {
  if (code < 0x20 || (code >= 0x7F && code < 0xA0)) return false;
  return !(code == 0x61C || code == 0x200E || code == 0x200F || (code >= 0x2028 && code <= 0x202E) ||
           (code >= 0x2066 && code <= 0x2069) || code == 0xFEFF);
}

}  // namespace

std::string clean_text(std::string_view text, std::string_view keep) {
  std::string clean;
  clean.reserve(text.size());
  while (!text.empty()) {
    std::uint32_t code = 0;
    const std::size_t length = length_of(text, code);
    if (length != 0 && (shows(code) || (code < 0x80 && keep.find(static_cast<char>(code)) != std::string_view::npos)))
      clean += text.substr(0, length);
    else clean += '?';
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return clean;
}

}  // namespace canopy::inspector
