#include "yaml_causes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

namespace canopy {

std::optional<Refused> likely_cause(std::string_view text, std::size_t end) {
  std::vector<std::size_t> brackets;
  char before = '\n';  // the last character that is not blank
  bool blank = true;   // whether the character before `at` is blank, or there is none
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '#' && blank) {
      at = std::min(text.find('\n', at), text.size());
      continue;
    }
    const bool begins_value = std::strchr(blank ? "\n[{,:-?" : "\n[{,", before) != nullptr;
    if ((c == '"' || c == '\'') && begins_value) {
      const auto closed = quote_end(text, at);
      if (!closed && at <= end) return Refused{at, kUnclosed};
      at = closed.value_or(at + 1), before = c, blank = false;
      continue;
    }
    if ((c == '[' || c == '{') && begins_value) brackets.push_back(at);
    if ((c == ']' || c == '}') && !brackets.empty()) {
      if ((c == ']') != (text[brackets.back()] == '[')) break;
      brackets.pop_back();
    }
    blank = c == ' ' || c == '\t' || c == '\r' || c == '\n';
    if (!blank || (c == '\n' && brackets.empty())) before = c;
    ++at;
  }
  if (brackets.empty()) return {};
  return Refused{brackets.back(), fmt::format("the '{}' that opens here is not closed", text[brackets.back()])};
}

std::string in_plain_words(const std::string& said) {
  static constexpr std::array<std::pair<const char*, const char*>, 16> kWords{{
      {"illegal EOF in scalar", "the text ends inside a quoted value"},
      {"end of sequence flow", "expected ',' or ']': a [list] is not closed, or its items are not separated"},
      {"end of map flow", "expected ',' or '}': a {map} is not closed, or its entries are not separated"},
      {"end of sequence", "expected '- ' or less indentation: this does not continue the list above"},
      {"end of map", "expected a key: this does not continue the map above; check the indentation"},
      {"illegal map value", "a ':' that makes no key and value here; check the indentation, or quote the text"},
      {"illegal map key", "a key cannot stand here; check the indentation"},
      {"illegal block entry", "a '- ' cannot stand here; check the indentation"},
      {"illegal flow end", "a ']' or '}' that closes nothing"},
      {"illegal tab", "a tab where YAML wants spaces"},
      {"unknown token", "a value cannot begin with this character; quote it"},
      {"unknown escape", "no such escape in double quotes; single quotes take a backslash as it is"},
      {"alias", "aliases (*name) are not allowed; write the value out"},
      {"referenced anchor", "aliases (*name) are not allowed; write the value out"},
      {"anchor", "anchors (&name) are not allowed; write the value out"},
      {"tag", "tags (!name) are not allowed; leave it out"},
  }};
  for (const auto& [theirs, ours] : kWords)
    if (said.find(theirs) != std::string::npos) return ours;
  return "this is not YAML: " + said;
}

}  // namespace canopy
