/// Numbers with a suffix or a unit, as text.
#include <canopy/base/yaml_options.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <system_error>

#include "option_words.h"

namespace canopy {
namespace {

struct Suffix {
  std::string_view name;
  std::uint64_t factor;
};
constexpr Suffix kBinary[] = {{"Gi", 1 << 30}, {"Mi", 1 << 20}, {"Ki", 1 << 10}, {"", 1}};
constexpr Suffix kDecimal[] = {{"G", 1'000'000'000}, {"M", 1'000'000}, {"k", 1000}, {"", 1}};
constexpr Suffix kTimes[] = {
    {"s", 1'000'000'000'000}, {"ms", 1'000'000'000}, {"us", 1'000'000}, {"ns", 1000}, {"ps", 1}};

bool is_time(Unit unit) { return unit >= Unit::s; }

/// Returns the suffixes of printed numbers, the largest first. The last one is the unit of the value.
std::span<const Suffix> suffixes_of(Unit unit) {
  if (is_time(unit))
    return std::span(kTimes).first(static_cast<std::size_t>(unit) - static_cast<std::size_t>(Unit::s) + 1);
  if (unit == Unit::none) return std::span(kDecimal).last(1);
  return unit == Unit::bytes ? std::span(kBinary) : std::span(kDecimal);
}

std::string_view ending_of(Unit unit) {
  return unit == Unit::bytes ? "B" : unit == Unit::bytes_per_s ? "B/s" : std::string_view();
}

/// Returns the factor of a suffix without its ending; 0 if the suffix is unknown.
std::uint64_t factor_of(std::string_view suffix, Unit unit) {
  const auto named = [&](const Suffix& one) { return one.name == suffix; };
  if (is_time(unit)) {
    const auto known = suffixes_of(unit);
    const auto found = std::ranges::find_if(known, named);
    return found == known.end() ? 0 : found->factor / known.back().factor;
  }
  for (const auto known : {std::span(kBinary), std::span(kDecimal)})
    if (const auto found = std::ranges::find_if(known, named); found != known.end()) return found->factor;
  return suffix == "K" ? 1000 : 0;
}

constexpr const char* kOutside = "is outside";
constexpr const char* kNoNumber = "is not a whole number in decimal digits";

std::string unknown_suffix(Unit unit) {
  if (unit <= Unit::bytes)
    return "has an unknown suffix; suffixes are k or K, M, G (powers of 1000) and Ki, Mi, Gi (of 1024)";
  std::string names;
  for (const Suffix& one : suffixes_of(unit))
    names += fmt::format("{}{}{}", names.empty() ? "" : ", ", one.name, ending_of(unit));
  return "has an unknown unit; units are " + names;
}

/// Returns an error message if a text is not a number of this unit, else an empty text. kOutside: the number does not
/// fit into 64 bits.
std::string read_decimal(const std::string& given, Unit unit, std::uint64_t& value) {
  constexpr std::size_t kMostFraction = 6;  // digits, so that no product below wraps
  const std::string_view text = std::string_view(given).substr(given.starts_with('-')), ending = ending_of(unit);
  const std::size_t count = std::min(text.find_first_not_of("0123456789_"), text.size());
  std::string digits(text.substr(0, count));
  std::string_view suffix = text.substr(count), fraction;
  if (digits.empty() || digits.front() == '_' || digits.back() == '_' || digits.find("__") != std::string::npos)
    return kNoNumber;
  if (suffix.starts_with(',') && suffix.find_first_not_of(",0123456789") == std::string_view::npos)
    return "has commas; group digits with '_', as in 3_000_000";
  if (suffix.starts_with('.')) {
    fraction = suffix.substr(1, std::min(suffix.find_first_not_of("0123456789", 1), suffix.size()) - 1);
    suffix.remove_prefix(1 + fraction.size());
    if (fraction.empty() || suffix.empty()) return kNoNumber;
  }
  const std::string_view written = suffix;
  const bool ends = !ending.empty() && suffix.ends_with(ending),
             zero = digits.find_first_not_of("0_") == std::string::npos &&
                    fraction.find_first_not_of('0') == std::string_view::npos;
  if (ends) suffix.remove_suffix(ending.size());
  const std::uint64_t factor = zero && suffix.empty() ? 1 : factor_of(suffix, unit);
  const bool bare = is_time(unit) ? suffix.empty() : unit == Unit::bytes_per_s && !ends && factor > 0;
  if (bare && !zero) return fmt::format("has no unit, as in {}{}{}", given, suffixes_of(unit).back().name, ending);
  if (factor == 0) {  // 1e3 and 0x10 are numbers in other languages, so their letters are not suffixes
    const auto is_letter = [](char c) { return c == '/' || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z'); };
    return std::ranges::all_of(written, is_letter) && written[0] != 'e' && written[0] != 'x' ? unknown_suffix(unit)
                                                                                             : kNoNumber;
  }
  if (digits.size() > 1 && digits[0] == '0') {
    const std::size_t first = digits.find_first_not_of("0_");
    return fmt::format("is ambiguous, octal or decimal; write {}{}",
                       first == std::string::npos ? "0" : digits.substr(first), text.substr(count));
  }
  std::erase(digits, '_');
  const bool fits = std::from_chars(digits.data(), digits.data() + digits.size(), value).ec == std::errc();
  if (!fits || value > kHuge / factor) return kOutside;
  value *= factor;
  std::uint64_t part = 0, whole = 1;
  for (const char digit : fraction.substr(0, kMostFraction))
    part = part * 10 + static_cast<std::uint64_t>(digit - '0'), whole *= 10;
  if (__builtin_add_overflow(value, part * factor / whole, &value)) return kOutside;
  if (given[0] == '-' && !zero) return kOutside;
  if (fraction.size() <= kMostFraction && part * factor % whole == 0) return {};
  return fmt::format("is not a whole number{}{}{}", unit == Unit::none ? "" : " of ", suffixes_of(unit).back().name,
                     ending);
}

}  // namespace

std::string quantity(std::uint64_t value, Unit unit) {
  const auto known = suffixes_of(unit);
  for (const auto& [name, factor] : known)
    if (const std::uint64_t one = factor / known.back().factor; value != 0 && value % one == 0)
      return fmt::format("{}{}{}", value / one, name, ending_of(unit));
  return "0";
}

std::string range_of(std::uint64_t min, std::uint64_t max, Unit unit) {
  if (max < kHuge) return fmt::format("{}..{}", quantity(min, unit), quantity(max, unit));
  return min == 0 ? "any whole number" : fmt::format("at least {}", quantity(min, unit));
}

std::optional<std::uint64_t> read_number(const YamlNode& value, std::string_view name, std::uint64_t min,
                                         std::uint64_t max, std::string_view help, Complaints& complaints, Unit unit) {
  const auto complain = [&](const std::string& what) {
    canopy::complain(value.mark, fmt::format("{} = {} {}{}", name, shown(value), what, in_brackets(help)), complaints);
    return std::nullopt;
  };
  std::uint64_t number = 0;
  // In quotes a number is text, unless it has a unit.
  const bool may_be = value.kind == YamlNode::Kind::scalar && (!value.quoted || unit > Unit::bytes);
  const std::string why = may_be         ? read_decimal(value.scalar, unit, number)
                          : value.quoted ? "is text, because it is in quotes"
                                         : kNoNumber;
  if (why == kOutside || (why.empty() && (number < min || number > max)))
    return complain("is outside " + range_of(min, max, unit));
  if (!why.empty()) return complain(fmt::format("{}; expected {}", why, range_of(min, max, unit)));
  return number;
}

}  // namespace canopy
