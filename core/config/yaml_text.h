#pragma once

#include <canopy/config/yaml_document.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace canopy {

/// Why a text is no document: thrown by all that read it, and caught by parse_yaml alone.
struct Refused {
  std::size_t at;  ///< byte of the text
  std::string why;
};

/// From bytes to lines and columns. Remembers the last place, because places are asked for in order.
class Places {
 public:
  Places(std::string_view text, const std::string& source) : text_(text), source_(source) {}
  Mark mark(std::size_t at);

 private:
  std::string_view text_;
  const std::string& source_;
  std::size_t at_ = 0;
  int line_ = 1, column_ = 1;
};

/// Bytes of the well-formed UTF-8 sequence at the start of a text, 0 if there is none. Neither surrogates nor
/// detours: those are how forbidden characters get past a check.
std::size_t utf8_length(std::string_view text);

/// Throws Refused for what yaml-cpp would pass over in silence or stumble on with a misleading message.
void check_characters(std::string_view text);

/// One past the quote that closes the one at `at`, or nothing if its line ends first.
std::optional<std::size_t> quote_end(std::string_view text, std::size_t at);

/// Letters, digits, `_` and `-`, the first no digit and no `-`: what components and options are called, and what
/// needs no quotes.
bool is_name(std::string_view text);

}  // namespace canopy
