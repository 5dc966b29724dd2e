#include <canopy/base/printable.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace canopy {
namespace {

/// Returns the code point of a character. REQUIRES: it is one well-formed sequence.
std::uint32_t code_point(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  std::uint32_t code = character.size() == 1 ? first : first & (0x7FU >> character.size());
  for (std::size_t i = 1; i < character.size(); ++i)
    code = code << 6 | (static_cast<unsigned char>(character[i]) & 0x3F);
  return code;
}

/// Appends the character or byte at `at` in printable form, and returns the offset after it.
std::size_t append(std::string& out, std::string_view text, std::size_t at) {
  const std::size_t length = utf8_length(text.substr(at));
  const std::string_view character = text.substr(at, length);
  if (length != 0 && is_shown_as_itself(character)) out += character;
  else if (length < 2) out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[at]));
  else if (length < 4) out += fmt::format("\\u{:04x}", code_point(character));
  else out += fmt::format("\\U{:08x}", code_point(character));
  return at + std::max<std::size_t>(length, 1);
}

}  // namespace

std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const auto continues = [&](std::size_t i) { return (byte(i) & 0xC0) == 0x80; };
  const unsigned first = byte(0), second = byte(1);
  if (first < 0x80) return text.empty() ? 0 : 1;
  if (first < 0xC2 || first > 0xF4 || !continues(1)) return 0;
  if (first < 0xE0) return 2;
  if (first < 0xF0) {
    const bool overlong = first == 0xE0 && second < 0xA0, surrogate = first == 0xED && second >= 0xA0;
    return overlong || surrogate || !continues(2) ? 0 : 3;
  }
  const bool overlong = first == 0xF0 && second < 0x90, too_high = first == 0xF4 && second >= 0x90;
  return overlong || too_high || !continues(2) || !continues(3) ? 0 : 4;
}

bool is_shown_as_itself(std::string_view character) {
  // Ranges of controls, and of characters that are invisible, separate lines or change the direction of writing.
  static constexpr std::uint32_t kHidden[][2] = {
      {0x00, 0x1F},     {0x7F, 0x9F},     {0xAD, 0xAD},     {0x61C, 0x61C},   {0x180E, 0x180E},  {0x200B, 0x200F},
      {0x2028, 0x202E}, {0x2060, 0x206F}, {0xFEFF, 0xFEFF}, {0xFFF9, 0xFFFB}, {0xE0000, 0xE007F}};
  const std::uint32_t code = code_point(character);
  return std::none_of(std::begin(kHidden), std::end(kHidden),
                      [code](const auto& range) { return range[0] <= code && code <= range[1]; });
}

std::string printable(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) at = append(out, text, at);
  return out;
}

std::string shown_name(std::string_view name) {
  if (name.empty()) return "(shared)";
  const bool quoted = name.front() == '(' || name.front() == '\'';
  return quoted ? "'" + std::string(name) + "'" : std::string(name);
}

std::string csv_field(std::string_view text) {
  std::string field = printable(text);
  if (!field.empty() && std::string_view("=+-@").find(field[0]) != std::string_view::npos) field.insert(0, 1, '\'');
  if (field.find_first_of(",\"") == std::string::npos) return field;
  std::string quoted = "\"";
  for (const char c : field) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + '"';
}

std::string json_text(std::string_view text) {
  std::string json = "\"";
  for (const char c : printable(text)) {  // without control characters, and UTF-8
    if (c == '"' || c == '\\') json += '\\';
    json += c;
  }
  return json + "\"";
}

std::string printable_lines(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '\n') out += text[at++];
    else at = append(out, text, at);
  }
  return out;
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kMaxShown = 48;
  std::string out = "'";
  for (std::size_t at = 0; at < text.size();) {
    if (at >= kMaxShown) return out + "...'";
    at = append(out, text, at);
  }
  return out + "'";
}

}  // namespace canopy
