#include "option_words.h"

#include <fmt/format.h>

namespace canopy {

std::string in_brackets(std::string_view help) { return help.empty() ? "" : fmt::format(" ({})", help); }

std::string shown(const YamlNode& value) {
  switch (value.kind) {
    case YamlNode::Kind::null:
      return value.scalar.empty() ? "nothing" : value.scalar;
    case YamlNode::Kind::sequence:
      return "a list";
    case YamlNode::Kind::map:
      return "a map";
    case YamlNode::Kind::scalar:
      break;
  }
  const bool plain = !value.quoted && value.scalar.find_first_not_of("0123456789-._") == std::string::npos;
  return plain && value.scalar.size() <= 40 ? value.scalar : in_quotes(value.scalar);
}

}  // namespace canopy
