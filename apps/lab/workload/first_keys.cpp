#include "first_keys.h"

#include <cstddef>

namespace canopy::workload {

std::vector<std::string> first_keys(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\r\n";
  std::vector<std::string> keys;
  std::size_t at = text.find_first_not_of(kSpaces);
  if (at != text.npos && text[at] == '[') at = text.find_first_not_of(kSpaces, at + 1);
  if (at == text.npos || text[at] != '{') return keys;
  std::size_t depth = 0;
  bool key_comes = false;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"') {
      const std::size_t begin = ++at;
      while (at < text.size() && text[at] != '"') at += text[at] == '\\' ? 2u : 1u;
      if (at >= text.size()) break;  // the text ends within the string
      if (depth == 1 && key_comes) keys.emplace_back(text.substr(begin, at - begin));
      key_comes = false;
    } else if (c == '{' || c == '[') {
      key_comes = ++depth == 1;
    } else if (c == '}' || c == ']') {
      if (--depth == 0) break;
    } else if (c == ',') {
      key_comes = depth == 1;
    }
  }
  return keys;
}

}  // namespace canopy::workload
