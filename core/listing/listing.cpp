#include "listing.h"

#include <canopy/base/figures.h>
#include <canopy/base/printable.h>
#include <fmt/format.h>

#include <cmath>

namespace canopy::listing {
namespace {

/// Returns a difference of whole numbers with its sign, written by `words`.
template <class Words>
std::string with_sign(double difference, Words&& words) {
  if (std::abs(difference) < 0.5) return "=";
  return (difference > 0 ? "+" : "-") + words(std::abs(difference));
}

}  // namespace

std::optional<double> figure_of(const Value& value) {
  if (const auto* number = std::get_if<std::uint64_t>(&value)) return static_cast<double>(*number);
  if (const auto* change = std::get_if<Change>(&value)) return change->by;
  if (const auto* points = std::get_if<Points>(&value)) return points->by;
  if (const auto* share = std::get_if<Share>(&value); share && share->whole != 0)
    return static_cast<double>(share->part) / static_cast<double>(share->whole);
  return {};
}

Value difference(std::uint64_t first, std::uint64_t second) {
  return Change{static_cast<double>(second) - static_cast<double>(first)};
}

Value difference(Share first, Share second) {
  if (first.whole == 0 || second.whole == 0) return {};
  return Points{*figure_of(second) - *figure_of(first)};
}

bool is_nothing(const Value& value) {
  const auto* words = std::get_if<std::string>(&value);
  return words ? words->empty() : figure_of(value).value_or(0) == 0;
}

bool is_before(const Value& a, const Value& b) {
  const auto *first = std::get_if<std::string>(&a), *second = std::get_if<std::string>(&b);
  if (first && second) return *first < *second;
  return first || second ? second != nullptr : figure_of(a) < figure_of(b);
}

std::string in_full(const Value& value, Unit unit) {
  if (const auto* words = std::get_if<std::string>(&value)) return *words;
  if (const auto* share = std::get_if<Share>(&value)) return percent(share->part, share->whole);
  if (const auto* points = std::get_if<Points>(&value)) return fmt::format("{:+.2f} points", points->by * 100);
  if (const auto* change = std::get_if<Change>(&value))
    return with_sign(change->by, [](double by) { return grouped(static_cast<std::uint64_t>(by + 0.5)); });
  const auto* number = std::get_if<std::uint64_t>(&value);
  if (!number) return "-";
  return unit == Unit::us ? duration(static_cast<double>(*number) / 1e6) : grouped(*number);
}

std::string in_brief(const Value& value, Unit unit) {
  if (const auto* points = std::get_if<Points>(&value)) return fmt::format("{:+.1f}", points->by * 100);
  if (const auto* change = std::get_if<Change>(&value)) return with_sign(change->by, brief);
  const auto* number = std::get_if<std::uint64_t>(&value);
  return number && unit == Unit::tokens ? brief(static_cast<double>(*number)) : in_full(value, unit);
}

std::string in_file(const Value& value) {
  if (const auto* words = std::get_if<std::string>(&value)) return *words;
  if (const auto* number = std::get_if<std::uint64_t>(&value)) return std::to_string(*number);
  const std::optional<double> figure = figure_of(value);
  return figure ? fmt::format("{}", *figure) : std::string();
}

std::string csv_of(const Cells& cells) {
  std::string csv;
  const auto add = [&](const std::vector<std::string>& line) {
    for (std::size_t i = 0; i < line.size(); ++i) {
      if (i > 0) csv += ',';
      csv += csv_field(line[i]);
    }
    csv += '\n';
  };
  add(cells.heads);
  for (const std::vector<std::string>& row : cells.rows) add(row);
  return csv;
}

}  // namespace canopy::listing
