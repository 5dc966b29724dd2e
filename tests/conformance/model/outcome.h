#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace canopy::test {

/// One result of an operation: "had" 4, "window.pages" 0 0 7 8.
struct Answer {
  Answer(std::string what, std::uint64_t number) : label(std::move(what)), value(std::to_string(number)) {}
  Answer(std::string what, std::string text) : label(std::move(what)), value(std::move(text)) {}
  std::string label, value;
};
using Outcome = std::vector<Answer>;

/// Returns "7 8", or "none".
std::string list_of(std::span<const std::uint32_t> numbers);

/// Compares the expectations of an operation with its results; throws a Mismatch with the difference. Expectations are
/// separated by commas: "had 4", "2 pages", "4" (the first result), "refused" (the value 1), "window.left 3 4". Skips
/// those whose label `passes_over` accepts.
void compare(const Outcome& outcome, std::string_view expectations,
             const std::function<bool(std::string_view label)>& passes_over);

}  // namespace canopy::test
