#include "time_columns.h"

#include <algorithm>
#include <cmath>

namespace canopy::inspector {
namespace {

Counts& counts_of(std::vector<TenantCounts>& tenants, std::uint32_t row) {
  const auto known = std::find_if(tenants.begin(), tenants.end(), [&](const auto& each) { return each.row == row; });
  return known != tenants.end() ? known->counts : tenants.emplace_back(TenantCounts{row, {}}).counts;
}

void add(TimeColumn& column, const Bucket& bucket, std::optional<std::uint32_t> tenant) {
  for (const TenantCounts& each : bucket.tenants) counts_of(column.tenants, each.row) += each.counts;
  column.running = std::max(column.running, bucket.running);
  for (std::size_t i = 0; i < column.traffic.size(); ++i) column.traffic[i] += bucket.traffic[i];
  if (tenant) {
    // By namespace, causes of evictions are not counted.
    for (const TenantCounts& each : bucket.tenants) {
      if (each.row != *tenant) continue;
      column.counts += each.counts;
      column.evicted[static_cast<std::size_t>(EvictionCause::room)] += each.counts[Count::evicted];
    }
    for (const TenantMissed& each : bucket.tenants_missed)
      if (each.row == *tenant) column.missed[each.reason] += each.tokens;
    return;
  }
  column.counts += bucket.counts;
  for (std::size_t i = 0; i < kReasons; ++i) column.missed[i] += bucket.missed[i];
  for (std::size_t i = 0; i < kEvictionCauses; ++i) column.evicted[i] += bucket.evicted[i];
}

/// Notes the idle time of a bucket. The operation that ended it keeps the width of a column.
void note_idle(TimeColumn& column, const Bucket::Idle& idle, const TimeAxis& axis, double least) {
  if (!axis.by_clock() || idle.us() == 0) return;
  const double from = std::max(static_cast<double>(idle.from_us), axis.first());
  const double to = static_cast<double>(idle.until_us) - least;
  if (to - from > std::max(least, column.idle_to - column.idle_from)) column.idle_from = from, column.idle_to = to;
}

}  // namespace

const Counts* TimeColumn::of(std::uint32_t tenant) const {
  for (const TenantCounts& each : tenants)
    if (each.row == tenant) return &each.counts;
  return nullptr;
}

std::vector<TimeColumn> columns_of(const History& history, const TimeAxis& axis, double from, double to,
                                   std::size_t most, std::optional<std::uint32_t> tenant) {
  std::vector<TimeColumn> columns;
  if (history.empty() || !(to > from) || most == 0) return columns;
  const std::vector<Bucket>& buckets = history.buckets();
  std::size_t first = history.places({axis.commit_at(from), axis.commit_at(from)}).first;
  if (first > 0) --first;
  const double least = (to - from) / static_cast<double>(most);
  double last_slot = -1;
  for (std::size_t i = first; i < buckets.size(); ++i) {
    const double begin = axis.begin_of(i), end = axis.end_of(i);
    if (end < from) continue;
    // Columns end at fixed places, so that they do not change while a live feed grows. An idle time stays alone: it
    // would flatten what comes after it.
    const double slot = std::floor((end - from) / least);
    const bool fits = !columns.empty() && (!(end > begin) || !(columns.back().to > columns.back().from) ||
                                           (slot == last_slot && columns.back().to - columns.back().from < least));
    last_slot = slot;
    if (!fits) {
      columns.emplace_back();
      columns.back().from = begin, columns.back().commits = buckets[i].commits;
    }
    TimeColumn& column = columns.back();
    add(column, buckets[i], tenant);
    column.to = end, column.commits.last = buckets[i].commits.last, column.bucket = i, column.us = buckets[i].last_us;
    note_idle(column, buckets[i].idle, axis, least);
    if (begin > to) break;
  }
  return columns;
}

double usual_most(std::vector<double> values) {
  std::erase_if(values, [](double value) { return !(value > 0); });
  if (values.empty()) return 1;
  const auto usual = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) * 9 / 10);
  std::nth_element(values.begin(), usual, values.end());
  const double most = *std::max_element(usual, values.end());
  return most > 2 * *usual ? 1.25 * *usual : most;
}

}  // namespace canopy::inspector
