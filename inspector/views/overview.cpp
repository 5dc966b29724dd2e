#include "overview.h"

#include <algorithm>
#include <cmath>

namespace canopy::inspector {

Overview::Overview(const std::vector<Sample>& samples) : samples_(samples) {
  if (empty()) return;
  by_clock_ = samples.back().us > samples.front().us;
  first_ = value(samples.front()), last_ = value(samples.back());
}

double Overview::share_of(std::uint64_t commit) const {
  if (empty()) return 0;
  const auto after = std::lower_bound(samples_.begin(), samples_.end(), commit,
                                      [](const Sample& sample, std::uint64_t at) { return sample.commit < at; });
  if (after == samples_.end()) return 1;
  if (after == samples_.begin()) return 0;
  const Sample &from = *(after - 1), &to = *after;
  const double part = static_cast<double>(commit - from.commit) / static_cast<double>(to.commit - from.commit);
  return share_of_value(value(from) + part * (value(to) - value(from)));
}

std::uint64_t Overview::commit_at(double share) const {
  if (samples_.empty()) return 0;
  const double wanted = value_at(std::clamp(share, 0.0, 1.0));
  const auto after = std::lower_bound(samples_.begin(), samples_.end(), wanted,
                                      [&](const Sample& sample, double at) { return value(sample) < at; });
  if (after == samples_.end()) return samples_.back().commit;
  if (after == samples_.begin()) return samples_.front().commit;
  const Sample &from = *(after - 1), &to = *after;
  const double part = value(to) > value(from) ? (wanted - value(from)) / (value(to) - value(from)) : 1;
  return from.commit + static_cast<std::uint64_t>(std::llround(part * static_cast<double>(to.commit - from.commit)));
}

std::vector<OverviewColumn> Overview::columns(std::size_t group, std::size_t most) const {
  std::vector<OverviewColumn> columns(std::min(most, samples_.size()));
  const Sample* before = nullptr;
  std::size_t next = 0;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    OverviewColumn& column = columns[i];
    const bool is_last = i + 1 == columns.size();
    const double end = value_at(static_cast<double>(i + 1) / static_cast<double>(columns.size()));
    const std::size_t first = next;
    while (next < samples_.size() && (is_last || value(samples_[next]) <= end)) ++next;
    const Sample& now = samples_[std::max<std::size_t>(next, 1) - 1];
    column.pages = now.pools[group], column.limit = now.limits[group];
    column.commit = now.commit, column.us = now.us;
    if (next == first && before) continue;
    if (before) {
      if (now.prompt_tokens > before->prompt_tokens)
        column.hit_share = static_cast<double>(now.hit_tokens - before->hit_tokens) /
                           static_cast<double>(now.prompt_tokens - before->prompt_tokens);
      column.evicted = static_cast<double>(now.evicted_tokens - before->evicted_tokens);
    }
    before = &now;
  }
  return columns;
}

double usual_most(const std::vector<OverviewColumn>& columns) {
  std::vector<double> some;
  for (const OverviewColumn& column : columns)
    if (column.evicted > 0) some.push_back(column.evicted);
  if (some.empty()) return 1;
  const auto usual = some.begin() + static_cast<std::ptrdiff_t>((some.size() - 1) * 9 / 10);
  std::nth_element(some.begin(), usual, some.end());
  const double most = *std::max_element(usual, some.end());
  return most > 3 * *usual ? 1.25 * *usual : most;
}

}  // namespace canopy::inspector
