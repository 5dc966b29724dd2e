#include <canopy/config/yaml_options.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "option_words.h"

namespace canopy {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// The power that a suffix stands for, 0 if it is none.
std::uint64_t factor_of(std::string_view suffix) {
  constexpr std::uint64_t kKilo = 1000, kKibi = 1024;
  constexpr std::pair<std::string_view, std::uint64_t> kSuffixes[] = {
      {"", 1},       {"k", kKilo},          {"M", kKilo * kKilo},         {"G", kKilo * kKilo * kKilo},
      {"Ki", kKibi}, {"Mi", kKibi * kKibi}, {"Gi", kKibi * kKibi * kKibi}};
  for (const auto& [name, factor] : kSuffixes)
    if (name == suffix) return factor;
  return 0;
}

enum class Written { number, too_large, negative, ambiguous, grouped_by_commas, unknown_suffix, no_number };

Written read_decimal(std::string_view text, std::uint64_t& value) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  const auto end_of_digits = std::find_if(text.begin(), text.end(), [](char c) { return !is_digit(c) && c != '_'; });
  const auto count = static_cast<std::size_t>(end_of_digits - text.begin());
  const std::string_view digits = text.substr(0, count), suffix = text.substr(count);
  const bool grouped_well =
      !digits.starts_with('_') && !digits.ends_with('_') && digits.find("__") == std::string_view::npos;
  if (digits.empty() || !grouped_well) return Written::no_number;
  if (suffix.starts_with(',') &&
      std::all_of(suffix.begin(), suffix.end(), [](char c) { return c == ',' || is_digit(c); }))
    return Written::grouped_by_commas;
  const std::uint64_t factor = factor_of(suffix);
  if (factor == 0)
    return std::all_of(suffix.begin(), suffix.end(), [](char c) { return (c | 0x20) >= 'a' && (c | 0x20) <= 'z'; }) &&
                   suffix[0] != 'e' && suffix[0] != 'x'
               ? Written::unknown_suffix
               : Written::no_number;
  if (digits.size() > 1 && digits[0] == '0') return Written::ambiguous;
  value = 0;
  for (const char c : digits) {
    if (c == '_') continue;
    const auto digit = static_cast<std::uint64_t>(c - '0');
    if (value > (kHuge - digit) / 10) return negative ? Written::negative : Written::too_large;
    value = value * 10 + digit;
  }
  if (negative && value != 0) return Written::negative;
  if (value > kHuge / factor) return Written::too_large;
  value *= factor;
  return Written::number;
}

std::string why_no_number(Written written, const YamlNode& value) {
  switch (written) {
    case Written::ambiguous: {
      const std::size_t first = std::min(value.scalar.find_first_not_of("-0_"), value.scalar.size() - 1);
      return fmt::format("is ambiguous, octal to some and decimal to others; write {}", value.scalar.substr(first));
    }
    case Written::grouped_by_commas:
      return "has commas; group digits with '_', as in 3_000_000";
    case Written::unknown_suffix:
      return "has an unknown suffix; known are k, M, G (powers of 1000) and Ki, Mi, Gi (of 1024)";
    default:
      break;
  }
  return value.quoted ? "is text, because it is in quotes" : "is not a whole number in decimal digits";
}

}  // namespace

std::optional<std::uint64_t> read_number(const YamlNode& value, std::string_view name, std::uint64_t min,
                                         std::uint64_t max, std::string_view help, Complaints& complaints) {
  const auto complain = [&](const std::string& what) {
    complaints.push_back(
        fmt::format("{}: {} = {} {}{}", value.mark.text(), name, shown(value), what, in_brackets(help)));
    return std::nullopt;
  };
  std::uint64_t number = 0;
  const bool may_be = value.kind == YamlNode::Kind::scalar && !value.quoted;
  const Written written = may_be ? read_decimal(value.scalar, number) : Written::no_number;
  const bool outside = written == Written::number && (number < min || number > max);
  if (outside || written == Written::too_large || written == Written::negative)
    return complain("is outside " + range_of(min, max));
  if (written != Written::number)
    return complain(fmt::format("{}; expected {}", why_no_number(written, value), range_of(min, max)));
  return number;
}

}  // namespace canopy
