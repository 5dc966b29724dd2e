#include "outcome.h"

#include <program/line_words.h>

#include <algorithm>
#include <cctype>

namespace canopy::test {

namespace {

struct Expected {
  std::string label;  ///< empty: the first result of the operation
  std::string value = "1";
};

Expected expected_from(std::string_view item) {
  auto words = split(item);
  Expected expected;
  // A word that begins with a digit is a number or a span.
  const auto is_label = [](std::string_view word) { return std::isdigit(static_cast<unsigned char>(word[0])) == 0; };
  if (words.empty()) disagree("an expectation is empty");
  if (is_label(words.front())) {
    expected.label = words.front();
    words.erase(words.begin());
  } else if (words.size() == 2 && is_label(words.back())) {
    expected.label = words.back() == "page" ? "pages" : words.back() == "node" ? "nodes" : words.back();
    words.pop_back();
  }
  if (!words.empty()) expected.value = fmt::format("{}", fmt::join(words, " "));
  return expected;
}

}  // namespace

std::string list_of(std::span<const std::uint32_t> numbers) {
  return numbers.empty() ? "none" : fmt::format("{}", fmt::join(numbers, " "));
}

void compare(const Outcome& outcome, std::string_view expectations,
             const std::function<bool(std::string_view label)>& passes_over) {
  for (bool more = true; more;) {
    const std::size_t comma = std::min(expectations.find(','), expectations.size());
    more = comma < expectations.size();
    const Expected expected = expected_from(expectations.substr(0, comma));
    expectations.remove_prefix(std::min(comma + 1, expectations.size()));
    if (passes_over(expected.label)) continue;
    const auto found = std::ranges::find_if(
        outcome, [&](const Answer& answer) { return expected.label.empty() || answer.label == expected.label; });
    if (found == outcome.end()) disagree("expected {} {}, got no such result", expected.label, expected.value);
    if (found->value != expected.value) disagree("expected {} {}, got {}", found->label, expected.value, found->value);
  }
}

}  // namespace canopy::test
