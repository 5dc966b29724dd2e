#pragma once

#include <canopy/base/printable.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "mismatch.h"

namespace canopy::test {

/// Returns the words of a line, separated by blanks or by the characters of `between`.
inline std::vector<std::string_view> split(std::string_view line, const char* between = " \t\r") {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; (at = line.find_first_not_of(between, at)) != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(between, at), line.size());
    parts.push_back(line.substr(at, end - at));
    at = end;
  }
  return parts;
}

template <class T>
bool is_number(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size();
}

template <class T>
T number(std::string_view text) {
  T value{};
  if (!is_number(text, value)) disagree("{} is not a number", in_quotes(text));
  return value;
}

/// Appends the numbers of "7", or of "7..9" (7 8 9), to `numbers`.
inline void add_numbers(std::string_view text, std::vector<std::uint32_t>& numbers) {
  const std::size_t dots = text.find("..");
  const auto first = number<std::uint32_t>(text.substr(0, dots));
  const auto last = dots == std::string_view::npos ? first : number<std::uint32_t>(text.substr(dots + 2));
  constexpr std::uint32_t kMost = 1'000'000;
  if (last < first) disagree("{} decreases", in_quotes(text));
  if (last - first >= kMost) disagree("{} is more than {} numbers", in_quotes(text), kMost);
  for (std::uint64_t i = first; i <= last; ++i) numbers.push_back(static_cast<std::uint32_t>(i));
}

/// Splits "key=value"; a bare word has an empty key.
inline std::pair<std::string_view, std::string_view> setting(std::string_view part) {
  const std::size_t equals = part.find('=');
  if (equals == std::string_view::npos) return {{}, part};
  if (equals == 0) disagree("{} has no name before '='", in_quotes(part));
  return {part.substr(0, equals), part.substr(equals + 1)};
}

/// Splits "group.what"; a bare "what" has an empty group.
inline std::pair<std::string_view, std::string_view> of_group(std::string_view name) {
  const std::size_t dot = name.find('.');
  if (dot == std::string_view::npos) return {{}, name};
  return {name.substr(0, dot), name.substr(dot + 1)};
}

}  // namespace canopy::test
