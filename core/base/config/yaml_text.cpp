#include "yaml_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace canopy {

Mark Places::mark(std::size_t at) {
  at = std::min(at, text_.size());
  if (at < at_) at_ = 0, line_ = 1, column_ = 1;
  for (; at_ < at; ++at_) {
    const auto byte = static_cast<unsigned char>(text_[at_]);
    if (byte == '\n') ++line_, column_ = 1;
    else if ((byte & 0xC0) != 0x80) ++column_;
  }
  return {source_, line_, column_};
}

void check_characters(std::string_view text) {
  bool indenting = true;
  std::size_t tab = text.size();  // offset of the first tab in the line's indentation; text.size(): none
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    const auto byte = static_cast<unsigned char>(c);
    if (!indenting && byte >= 0x20 && byte < 0x7F) {
      ++at;
      continue;
    }
    if (c == '\0') throw Refused{at, "a NUL byte; expected a text file"};
    const bool line_end = c == '\n' || (c == '\r' && at + 1 < text.size() && text[at + 1] == '\n');
    if ((byte < 0x20 && c != '\t' && !line_end) || byte == 0x7F)
      throw Refused{at, fmt::format("the control character 0x{:02X} is not allowed in a text file", byte)};
    const std::size_t length = utf8_length(text.substr(at));
    if (length == 0)
      throw Refused{at, fmt::format("the byte 0x{:02X} is not UTF-8 here; save the file as UTF-8", byte)};
    if (line_end) {
      indenting = true;
      tab = text.size();
    } else if (indenting && c == '\t') {
      tab = std::min(tab, at);
    } else if (indenting && c != ' ') {
      if (tab < at && c != '#') throw Refused{tab, "a tab in the indentation; YAML is indented with spaces"};
      indenting = false;
    }
    at += length;
  }
}

std::optional<std::size_t> quote_end(std::string_view text, std::size_t at) {
  const char quote = text[at];
  for (++at; at < text.size() && text[at] != '\n'; ++at) {
    const bool pair = at + 1 < text.size() && text[at + 1] != '\n' &&
                      (quote == '"' ? text[at] == '\\' : text[at] == '\'' && text[at + 1] == '\'');
    if (pair) ++at;
    else if (text[at] == quote) return at + 1;
  }
  return {};
}

bool is_name(std::string_view text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !text.empty() && letter(text[0]) &&
         std::all_of(text.begin(), text.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '-'; });
}

std::string to_yaml(std::string_view text) {
  if (is_name(text) && text != "null" && text != "Null" && text != "NULL") return std::string(text);
  // Bytes that are not UTF-8 stay as they are, so that a parser of the text refuses them.
  std::string out = "\"";
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text.substr(at));
    const std::string_view character = text.substr(at, std::max<std::size_t>(length, 1));
    if (character == "\"" || character == "\\") out += '\\';
    // In YAML, \x1b and \u202e have the same meaning.
    out += length == 0 ? std::string(character) : printable(character);
    at += character.size();
  }
  return out + "\"";
}

std::string to_yaml(const YamlNode& node) {
  std::string out;
  switch (node.kind) {
    case YamlNode::Kind::null:
      return node.scalar.empty() ? "~" : node.scalar;
    case YamlNode::Kind::scalar: {
      // A number has no other characters. Any other text has the same meaning in quotes.
      const bool number =
          !node.quoted && node.scalar.find_first_of("0123456789") != std::string::npos &&
          std::ranges::all_of(node.scalar, [](char c) { return is_name({&c, 1}) || std::strchr("0123456789.+-", c); });
      return number ? node.scalar : to_yaml(node.scalar);
    }
    case YamlNode::Kind::sequence:
      for (const YamlNode& item : node.items) out += (out.empty() ? "" : ", ") + to_yaml(item);
      return "[" + out + "]";
    case YamlNode::Kind::map:
      for (const auto& [key, value] : node.entries)
        out += (out.empty() ? "" : ", ") + to_yaml(key) + ": " + to_yaml(value);
      return out.empty() ? "{}" : "{ " + out + " }";
  }
  return out;
}

}  // namespace canopy
