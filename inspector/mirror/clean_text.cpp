#include "clean_text.h"

#include <canopy/base/printable.h>

#include <algorithm>

namespace canopy::inspector {

std::string clean_text(std::string_view text, std::string_view keep) {
  std::string clean;
  clean.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const std::string_view character = text.substr(0, length);
    if (length != 0 && (is_shown_as_itself(character) || keep.find(character) != std::string_view::npos))
      clean += character;
    else clean += '?';
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return clean;
}

}  // namespace canopy::inspector
