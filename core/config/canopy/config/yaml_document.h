#pragma once

#include <canopy/support/printable.h>
#include <canopy/support/result.h>

#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace canopy {

/// The place of a value, for messages: `source:line:column`. Line and column count from 1, columns in characters. Line
/// 0 means that the value is not from a file but from --set; then only `source` is printed.
struct Mark {
  std::string source;
  int line = 0, column = 0;
  std::string text() const;
};

/// A value of a YAML document with the place where it was written. Maps keep the order of the file.
struct YamlNode {
  enum class Kind { null, scalar, sequence, map };
  Kind kind = Kind::null;
  Mark mark;                    ///< of a null that is not written: the mark of its key
  std::string scalar;           ///< of a null: how it is written, "null", "~" or ""
  bool quoted = false;          ///< a quoted scalar is text, never a number or null
  std::vector<YamlNode> items;  ///< of a sequence
  struct Entry;
  std::vector<Entry> entries;  ///< of a map

  const YamlNode* find(std::string_view key) const;
  YamlNode* find(std::string_view key);
};

struct YamlNode::Entry {
  YamlNode first;   ///< the key, a scalar
  YamlNode second;  ///< the value
};

/// Parses one document strictly: no anchors, aliases, tags, merge keys, duplicate or non-scalar keys, second
/// document, unclosed quotes, tabs as indentation, control characters or invalid UTF-8; a quoted value ends on
/// the line where it begins. At most 1 MiB, 32 levels, 10,000 values and 32 KiB for one value, `[list]`,
/// `{map}` or comment. An empty text is a null. Errors carry `source:line:column`.
Result<YamlNode> parse_yaml(std::string_view text, const std::string& source);
/// A regular file; never waits for a pipe or a device.
Result<YamlNode> parse_yaml_file(const std::string& path);

/// Writes `a.b.c=value` into a document. A missing step becomes a map, and so does a scalar that is a component's name
/// (`slru` under `eviction.slru.protect_after=3`). In a sequence, a step is a number from 0. `value` is YAML. On an
/// error the document stays as it was.
Result<std::monostate> set_value(YamlNode& document, std::string_view assignment);

/// A text as a YAML scalar that reads back to it, in quotes only if it needs them.
std::string to_yaml(std::string_view text);
/// A value as YAML flow text that reads back to it; numbers and flags stay what they are.
std::string to_yaml(const YamlNode& node);

}  // namespace canopy
