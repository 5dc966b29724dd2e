#pragma once

#include <canopy/base/printable.h>
#include <canopy/base/yaml_document.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace canopy {

/// The reason why a text is not a document. Every function that reads the text throws it; only parse_yaml catches it.
struct Refused {
  std::size_t at;  ///< offset in the text, in bytes
  std::string why;
};

/// Converts byte offsets to lines and columns. Continues from the last offset, because callers use ascending ones.
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

/// Throws Refused for characters that yaml-cpp accepts silently or reports with a misleading message.
void check_characters(std::string_view text);

/// Returns the offset after the quote that closes the one at `at`; nothing if the line ends first.
std::optional<std::size_t> quote_end(std::string_view text, std::size_t at);

/// Returns true if a text has the form of the names of components and options: letters, digits, `_` and `-`, beginning
/// with a letter or `_`. Such a name needs no quotes in YAML.
bool is_name(std::string_view text);

}  // namespace canopy
