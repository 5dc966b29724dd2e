#pragma once

#include <canopy/base/printable.h>
#include <canopy/base/result.h>

#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace canopy {

/// Position of a value, for messages: `source:line:column`. Lines and columns are counted from 1, columns in
/// characters. Line 0: the value comes from --set, not from a file, and only `source` is printed.
struct Mark {
  std::string source;
  int line = 0, column = 0;
  std::string text() const;
};

/// A value of a YAML document with its position. Maps keep the order of the file.
struct YamlNode {
  enum class Kind { null, scalar, sequence, map };
  Kind kind = Kind::null;
  Mark mark;                    ///< position; of a value that is left out, the position of its key
  std::string scalar;           ///< text of a scalar; of a null as it was written, "null", "~" or ""
  bool quoted = false;          ///< true for a quoted scalar, which is text, never a number or null
  std::vector<YamlNode> items;  ///< elements of a sequence
  struct Entry;
  std::vector<Entry> entries;  ///< entries of a map

  const YamlNode* find(std::string_view key) const;
  YamlNode* find(std::string_view key);
};

struct YamlNode::Entry {
  YamlNode first;   ///< the key, a scalar
  YamlNode second;  ///< the value
};

/// Parses one document strictly: no anchors, aliases, tags, merge keys, duplicate or non-scalar keys, second document,
/// unclosed quotes, tabs as indentation, control characters or invalid UTF-8; a quoted value ends on the line where it
/// begins. At most 1 MiB, 32 levels, 10,000 values and 32 KiB for one value, `[list]`, `{map}` or comment. An empty
/// text is a null. Errors carry `source:line:column`.
Result<YamlNode> parse_yaml(std::string_view text, const std::string& source);
/// Parses a regular file. Never waits for a pipe or a device.
Result<YamlNode> parse_yaml_file(const std::string& path);

/// Sets `a.b.c=value` in a document. A missing step becomes a map, and so does a scalar that is a component's name
/// (`slru` for `eviction.slru.protect_after=3`). In a sequence, a step is a number from 0. `value` is YAML. On an error
/// the document is unchanged.
Result<std::monostate> set_value(YamlNode& document, std::string_view assignment);

/// Returns a text as a YAML scalar with the same meaning, quoted only if necessary.
std::string to_yaml(std::string_view text);
/// Returns a value as YAML flow text with the same meaning; numbers and flags keep their type.
std::string to_yaml(const YamlNode& node);

}  // namespace canopy
