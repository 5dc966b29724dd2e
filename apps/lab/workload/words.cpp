#include "words.h"

#include <canopy/base/printable.h>

#include <algorithm>

namespace canopy::workload {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

/// Returns the length of the word with which `text` begins.
std::size_t word(std::string_view text) {
  constexpr std::size_t kLongest = 8;
  const std::size_t space = text[0] == ' ' && text.size() > 1 && is_letter(text[1]) ? 1 : 0;
  std::size_t end = space;
  while (end < text.size() && end - space < kLongest && is_letter(text[end])) ++end;
  return end > space ? end : std::max<std::size_t>(utf8_length(text), 1);
}

}  // namespace

void Words::append(std::string_view text, std::vector<Token>& tokens) {
  while (!text.empty()) {
    const std::size_t length = word(text);
    tokens.push_back(
        numbers_.try_emplace(std::string(text.substr(0, length)), static_cast<Token>(numbers_.size())).first->second);
    text.remove_prefix(length);
  }
}

}  // namespace canopy::workload
