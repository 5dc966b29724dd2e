#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <account/time_axis.h>

namespace canopy::inspector {

/// One column of the charts over time: some buckets of the history, added up.
struct TimeColumn {
  double from = 0, to = 0;  ///< positions on the axis
  CommitRange commits;
  std::size_t bucket = 0;  ///< its last bucket
  Counts counts;
  std::array<std::uint64_t, kReasons> missed{};
  std::array<std::uint64_t, kEvictionCauses> evicted{};
  TrafficCounts traffic{};
  std::uint32_t running = 0;          ///< most requests that ran at the end of one of its buckets
  std::vector<TenantCounts> tenants;  ///< only those with a count

  std::uint64_t us = 0;  ///< engine's clock at its end
  /// Part of it in which no operation ended, if that part is wider than the other columns; idle_to <= idle_from: none.
  double idle_from = 0, idle_to = 0;
  bool has_idle() const { return idle_to > idle_from; }
  /// Returns tokens per unit of the axis in which something happened: wide columns are not taller than narrow ones.
  double density(std::uint64_t tokens) const {
    const double busy = to - from - (has_idle() ? idle_to - idle_from : 0);
    return busy > 0 ? static_cast<double>(tokens) / busy : 0;
  }
  const Counts* of(std::uint32_t tenant) const;
};

/// Returns the columns of a window of the axis, from left to right, about `most` of them. A column is never narrower
/// than a bucket: when zoomed in, or over an idle time, there are fewer. What takes no room on the axis is part of the
/// column before it. `tenant`: counts only this row.
std::vector<TimeColumn> columns_of(const History& history, const TimeAxis& axis, double from, double to,
                                   std::size_t most, std::optional<std::uint32_t> tenant = {});

/// Returns the top of a scale that a single tall column does not flatten: it fits most of the values that are not 0.
/// Higher columns are cut off and drawn with a mark.
double usual_most(std::vector<double> values);

}  // namespace canopy::inspector
