#include "what_if_lines.h"

#include <canopy/support/figures.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace canopy::inspector {
namespace {

template <class T>
std::size_t place_of(std::vector<T>& all, const T& value) {
  const auto found = std::find(all.begin(), all.end(), value);
  if (found != all.end()) return static_cast<std::size_t>(found - all.begin());
  all.push_back(value);
  return all.size() - 1;
}

void add(WhatIfLine& line, const ComparedRow& row, std::vector<std::uint64_t>& capacities) {
  if (!row.capacity) {
    line.unlimited = row.hit_rate;
    return;
  }
  line.points.push_back({*row.capacity, row.hit_rate});
  capacities.push_back(*row.capacity);
}

WhatIfLines sorted(WhatIfLines all) {
  std::sort(all.capacities.begin(), all.capacities.end());
  all.capacities.erase(std::unique(all.capacities.begin(), all.capacities.end()), all.capacities.end());
  for (WhatIfLine& line : all.lines)
    std::sort(line.points.begin(), line.points.end(), [](const auto& a, const auto& b) {
      return a.capacity != b.capacity ? a.capacity < b.capacity : a.hit_rate < b.hit_rate;
    });
  return all;
}

double rate_at(const WhatIfLine& line, std::uint64_t capacity) {
  for (const WhatIfLine::Point& point : line.points)
    if (point.capacity == capacity) return point.hit_rate;
  return -1;
}

std::string points(double difference) { return fmt::format("{:.2f} points", difference * 100); }

}  // namespace

std::vector<std::string> policies_of(std::span<const ComparedRow> rows) {
  std::vector<std::string> all;
  for (const ComparedRow& row : rows) place_of(all, row.policy);
  return all;
}

std::vector<std::uint64_t> page_sizes_of(std::span<const ComparedRow> rows) {
  std::vector<std::uint64_t> all;
  for (const ComparedRow& row : rows) place_of(all, row.page_size);
  return all;
}

WhatIfLines lines_by_policy(std::span<const ComparedRow> rows, std::uint64_t page_size) {
  WhatIfLines all;
  std::vector<std::string> names;
  for (const ComparedRow& row : rows) {
    const std::size_t at = place_of(names, row.policy);
    if (at == all.lines.size())
      all.lines.push_back({.name = row.policy, .ceiling = row.policy == "optimum", .colour = at});
    if (row.page_size == page_size) add(all.lines[at], row, all.capacities);
  }
  return sorted(std::move(all));
}

WhatIfLines lines_by_page_size(std::span<const ComparedRow> rows, const std::string& policy) {
  WhatIfLines all;
  std::vector<std::uint64_t> sizes;
  for (const ComparedRow& row : rows) {
    const std::size_t at = place_of(sizes, row.page_size);
    if (at == all.lines.size())
      all.lines.push_back({.name = fmt::format("pages of {}", grouped(row.page_size)), .colour = at});
    if (row.policy == policy) add(all.lines[at], row, all.capacities);
  }
  return sorted(std::move(all));
}

std::string reading_of(const WhatIfLines& all, std::uint64_t limit, const std::string& own) {
  if (all.capacities.empty()) return {};
  const auto far = [&](std::uint64_t capacity) {
    return std::abs(std::log(static_cast<double>(std::max<std::uint64_t>(capacity, 1)) /
                             static_cast<double>(std::max<std::uint64_t>(limit, 1))));
  };
  const std::uint64_t at =
      *std::min_element(all.capacities.begin(), all.capacities.end(), [&](auto a, auto b) { return far(a) < far(b); });
  const WhatIfLine *best = nullptr, *second = nullptr, *ours = nullptr, *ceiling = nullptr;
  for (const WhatIfLine& line : all.lines) {
    if (rate_at(line, at) < 0) continue;
    if (line.ceiling) ceiling = &line;
    else if (!best || rate_at(line, at) > rate_at(*best, at)) second = std::exchange(best, &line);
    else if (!second || rate_at(line, at) > rate_at(*second, at)) second = &line;
    if (line.name == own) ours = &line;
  }
  if (!best) return {};
  const double most = rate_at(*best, at);
  std::string words = fmt::format("At {} tokens {} reuses {}{} of the prompts", grouped(at), best->name,
                                  second ? "most, " : "", percent(most));
  if (const WhatIfLine* other = ours && ours != best ? ours : second; other)
    words += fmt::format(", {} more than {}", points(most - rate_at(*other, at)), other->name);
  if (ceiling && rate_at(*ceiling, at) > 0)
    words += fmt::format("; that is {} of the optimum", percent(most / rate_at(*ceiling, at)));
  return words + ".";
}

}  // namespace canopy::inspector
