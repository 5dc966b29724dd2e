#include "figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>

namespace canopy::inspector {

std::string brief(double number) {
  constexpr const char* kUnits[] = {"", " k", " M", " G", " T"};
  std::size_t unit = 0;
  // What would round to 1,000 of a unit is 1 of the next.
  for (; number >= (unit == 0 ? 999.5 : 999.95) && unit + 1 < std::size(kUnits); ++unit) number /= 1000;
  return fmt::format("{:.{}f}{}", number, unit == 0 ? 0 : 1, kUnits[unit]);
}

std::string percent(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return "-";
  return fmt::format("{:.1f} %", 100 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string duration(double microseconds) {
  if (microseconds < 1e3) return fmt::format("{:.1f} us", microseconds);
  if (microseconds < 1e6) return fmt::format("{:.1f} ms", microseconds / 1e3);
  if (microseconds < 60e6) return fmt::format("{:.2f} s", microseconds / 1e6);
  const auto seconds = static_cast<std::uint64_t>(microseconds / 1e6);
  return seconds < 3600 ? fmt::format("{} min {} s", seconds / 60, seconds % 60)
                        : fmt::format("{} h {} min", seconds / 3600, seconds / 60 % 60);
}

std::string plural(std::uint64_t number, std::string_view noun) {
  return fmt::format("{} {}{}", grouped(number), noun, number == 1 ? "" : "s");
}

std::uint32_t life_of(std::uint64_t id) {
  return canopy::life_of(NodeId{id});
}

std::string node_name(std::uint64_t id) {
  const std::uint32_t slot = slot_of(static_cast<NodeId>(id)), life = life_of(id);
  return life == 1 ? fmt::format("#{}", slot) : fmt::format("#{}.{}", slot, life);
}

bool parse_node_name(std::string_view text, std::uint32_t& slot, std::uint32_t& life) {
  if (text.starts_with('#')) text.remove_prefix(1);
  const char* end = text.data() + text.size();
  auto [at, error] = std::from_chars(text.data(), end, slot);
  life = 0;
  if (error != std::errc()) return false;
  if (at == end) return true;
  if (*at != '.') return false;
  const auto rest = std::from_chars(at + 1, end, life);
  return rest.ec == std::errc() && rest.ptr == end && life != 0;
}

bool parse_request_name(std::string_view text, std::uint64_t& number) {
  if (!text.starts_with('r')) return false;
  text.remove_prefix(text.starts_with("req") ? 3 : 1);
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && at == end;
}

}  // namespace canopy::inspector
