#pragma once

#include <canopy/base/yaml_document.h>
#include <doctest/doctest.h>

#include <string>
#include <string_view>

namespace canopy::test {

inline YamlNode good(std::string_view text) {
  auto document = parse_yaml(text, "t");
  REQUIRE_MESSAGE(document, (document ? std::string() : document.error().text));
  return *document;
}

/// One line that shows all of a tree but the places.
inline std::string flat(const YamlNode& node) {
  std::string out;
  switch (node.kind) {
    case YamlNode::Kind::null:
      return "null";
    case YamlNode::Kind::scalar:
      return node.quoted ? "'" + node.scalar + "'" : node.scalar;
    case YamlNode::Kind::sequence:
      for (const YamlNode& item : node.items) out += (out.empty() ? "" : ",") + flat(item);
      return "[" + out + "]";
    case YamlNode::Kind::map:
      for (const auto& [key, value] : node.entries) out += (out.empty() ? "" : ",") + flat(key) + ":" + flat(value);
      return "{" + out + "}";
  }
  return out;
}

inline std::string repeated(std::string_view text, std::size_t times) {
  std::string out;
  for (std::size_t i = 0; i < times; ++i) out += text;
  return out;
}

}  // namespace canopy::test
