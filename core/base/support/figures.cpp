#include <canopy/base/figures.h>

#include <fmt/format.h>

#include <iterator>

namespace canopy {

std::string grouped(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, 1, ',');
  return text;
}

std::string plural(std::uint64_t number, std::string_view noun) {
  return fmt::format("{} {}{}", grouped(number), noun, number == 1 ? "" : "s");
}

std::string brief(double number) {
  constexpr const char* kUnits[] = {"", " k", " M", " G", " T"};
  std::size_t unit = 0;
  // A number that would round to 1,000 of a unit is 1 of the next one.
  for (; number >= (unit == 0 ? 999.5 : 999.95) && unit + 1 < std::size(kUnits); ++unit) number /= 1000;
  return fmt::format("{:.{}f}{}", number, unit == 0 ? 0 : 1, kUnits[unit]);
}

std::string bytes(std::uint64_t number) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(number);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(kUnits); ++unit) value /= 1024;
  return unit == 0 ? fmt::format("{} B", number) : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string percent(double share) { return fmt::format("{:.2f} %", share * 100); }

std::string percent(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return "-";
  return fmt::format("{:.1f} %", 100 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string seconds(double value) {
  if (value == 0) return "0 s";
  if (value >= 1) return fmt::format("{:.2f} s", value);
  if (value >= 1e-3) return fmt::format("{:.1f} ms", value * 1e3);
  if (value >= 1e-6) return fmt::format("{:.1f} us", value * 1e6);
  return value >= 1e-8 ? fmt::format("{:.0f} ns", value * 1e9) : fmt::format("{:.1f} ns", value * 1e9);
}

std::string duration(double value) {
  if (value < 60) return seconds(value);
  const auto whole = static_cast<std::uint64_t>(value);
  return whole < 3600 ? fmt::format("{} min {} s", whole / 60, whole % 60)
                      : fmt::format("{} h {} min", whole / 3600, whole / 60 % 60);
}

}  // namespace canopy
