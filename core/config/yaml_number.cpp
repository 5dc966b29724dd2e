#include <canopy/config/yaml_options.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <system_error>
#include <utility>

#include "option_words.h"

namespace canopy {
namespace {

bool is_letter(char c) { return (c | 0x20) >= 'a' && (c | 0x20) <= 'z'; }

/// The factor that a suffix stands for; 0 if it is unknown.
std::uint64_t factor_of(std::string_view suffix) {
  constexpr std::uint64_t kKilo = 1000, kKibi = 1024;
  constexpr std::pair<std::string_view, std::uint64_t> kSuffixes[] = {{"", 1},
                                                                      {"k", kKilo},
                                                                      {"K", kKilo},
                                                                      {"M", kKilo * kKilo},
                                                                      {"G", kKilo * kKilo * kKilo},
                                                                      {"Ki", kKibi},
                                                                      {"Mi", kKibi * kKibi},
                                                                      {"Gi", kKibi * kKibi * kKibi}};
  for (const auto& [name, factor] : kSuffixes)
    if (name == suffix) return factor;
  return 0;
}

enum class Written { number, too_large, negative, ambiguous, grouped_by_commas, unknown_suffix, no_number };

Written read_decimal(std::string_view text, std::uint64_t& value) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  const std::size_t count = std::min(text.find_first_not_of("0123456789_"), text.size());
  std::string digits(text.substr(0, count));
  const std::string_view suffix = text.substr(count);
  if (digits.empty() || digits.front() == '_' || digits.back() == '_' || digits.find("__") != std::string::npos)
    return Written::no_number;
  if (suffix.starts_with(',') && suffix.find_first_not_of(",0123456789") == std::string_view::npos)
    return Written::grouped_by_commas;
  const std::uint64_t factor = factor_of(suffix);
  if (factor == 0)  // 1e3 and 0x10 are numbers elsewhere, so their letters are no suffix
    return std::ranges::all_of(suffix, is_letter) && suffix[0] != 'e' && suffix[0] != 'x' ? Written::unknown_suffix
                                                                                          : Written::no_number;
  if (digits.size() > 1 && digits[0] == '0') return Written::ambiguous;
  std::erase(digits, '_');
  const bool fits = std::from_chars(digits.data(), digits.data() + digits.size(), value).ec == std::errc();
  if (negative && (!fits || value != 0)) return Written::negative;
  if (!fits || value > kHuge / factor) return Written::too_large;
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
      return "has an unknown suffix; known are k or K, M, G (powers of 1000) and Ki, Mi, Gi (of 1024)";
    default:
      break;
  }
  return value.quoted ? "is text, because it is in quotes" : "is not a whole number in decimal digits";
}

}  // namespace

std::optional<std::uint64_t> read_number(const YamlNode& value, std::string_view name, std::uint64_t min,
                                         std::uint64_t max, std::string_view help, Complaints& complaints) {
  const auto complain = [&](const std::string& what) {
    canopy::complain(value.mark, fmt::format("{} = {} {}{}", name, shown(value), what, in_brackets(help)), complaints);
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
