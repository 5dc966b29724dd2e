#pragma once

#include <canopy/result.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace canopy {

/// Where something stands, for messages: `source:line:column`, both from 1. Line 0: not from a file (a value
/// given by --set), and then only `source` is printed.
struct Mark {
  std::string source;
  int line = 0, column = 0;
  std::string text() const;
};

/// A value of a YAML document with the place where it was written. Maps keep the order of the file.
struct YamlNode {
  enum class Kind { null, scalar, sequence, map };
  Kind kind = Kind::null;
  Mark mark;
  std::string scalar;
  bool quoted = false;                               ///< a quoted scalar is text, never a number or null
  std::vector<YamlNode> items;                       ///< of a sequence
  std::vector<std::pair<YamlNode, YamlNode>> entries;  ///< of a map: key (a scalar) and value

  const YamlNode* find(std::string_view key) const;
  YamlNode* find(std::string_view key);
};

/// Parses one document strictly: no anchors, aliases, tags, duplicate or non-scalar keys, second document,
/// unclosed quotes, NUL bytes or invalid UTF-8; at most 1 MiB, 32 levels and 10,000 values. Errors carry
/// `source:line:column`.
Result<YamlNode> parse_yaml(std::string_view text, const std::string& source);
Result<YamlNode> parse_yaml_file(const std::string& path);

/// `a.b.c=value` on top of a document, as if it had been written there: a scalar or missing step becomes a map.
/// `value` is YAML itself. nothing, or why not.
Result<std::monostate> set_value(YamlNode& document, std::string_view assignment);

}  // namespace canopy
