#include "time_axis.h"

#include <canopy/base/figures.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace canopy::inspector {
namespace {

/// Returns a round distance between marks, large enough that there are at most `most` marks.
double nice_step(double span, std::size_t most) {
  const double least = span / static_cast<double>(std::max<std::size_t>(most, 1));
  const double ten = std::pow(10.0, std::floor(std::log10(std::max(least, 1e-9))));
  for (const double step : {1.0, 2.0, 5.0})
    if (step * ten >= least) return step * ten;
  return 10 * ten;
}

/// Returns such a distance for a clock: 30 s, 5 min and 2 h are better than 20, 50 and 100.
double nice_seconds(double span, std::size_t most) {
  constexpr std::array<double, 12> kNice = {10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21600};
  const double least = span / static_cast<double>(std::max<std::size_t>(most, 1));
  if (least > 10)
    for (const double step : kNice)
      if (step >= least) return step;
  return least > 10 ? 3600 * nice_step(span / 3600, most) : nice_step(span, most);
}

std::string clock(double seconds, double step) {
  if (seconds == 0) return "0 s";
  if (step >= 3600) return fmt::format("{:g} h", seconds / 3600);
  if (step >= 60) return fmt::format("{:g} min", seconds / 60);
  if (step >= 1) return duration(seconds);
  // Enough digits to distinguish two marks.
  const auto digits = static_cast<int>(std::ceil(-std::log10(step) - 1e-9));
  if (seconds < 1 && step < 1e-3) return fmt::format("{:.{}f} ms", seconds * 1e3, std::max(0, digits - 3));
  return fmt::format("{:.{}f} s", seconds, digits);
}

}  // namespace

TimeAxis::TimeAxis(const History& history)
    : TimeAxis(history, !history.empty() && history.buckets().back().last_us > history.buckets().front().first_us) {}

TimeAxis::TimeAxis(const History& history, bool by_clock) : history_(history), by_clock_(by_clock) {
  if (history.empty()) return;
  first_ = begin_of(0), last_ = end_of(history.buckets().size() - 1);
}

TimeAxis TimeAxis::of(const History& part) const { return {part, by_clock_}; }

double TimeAxis::begin_of(std::size_t bucket) const {
  const std::vector<Bucket>& buckets = history_.buckets();
  if (bucket > 0) return end_of(bucket - 1);
  return static_cast<double>(by_clock_ ? buckets.front().first_us : buckets.front().commits.first - 1);
}

double TimeAxis::end_of(std::size_t bucket) const {
  const Bucket& at = history_.buckets()[bucket];
  return static_cast<double>(by_clock_ ? at.last_us : at.commits.last);
}

double TimeAxis::value_of(std::uint64_t commit) const {
  if (history_.empty()) return 0;
  if (!by_clock_) return std::clamp(static_cast<double>(commit), first_, last_);
  const auto [bucket, end] = history_.places({commit, commit});
  if (bucket >= end) return commit <= history_.all().first ? first_ : last_;
  const CommitRange commits = history_.buckets()[bucket].commits;
  const double part = static_cast<double>(commit - commits.first + 1) / static_cast<double>(commits.commits());
  const double begin = begin_of(bucket);
  return begin + part * (end_of(bucket) - begin);
}

std::uint64_t TimeAxis::commit_at(double value) const {
  if (history_.empty()) return 0;
  const CommitRange all = history_.all();
  if (!by_clock_)
    return std::clamp(static_cast<std::uint64_t>(std::max(0LL, std::llround(value))), all.first, all.last);
  if (value >= last_) return all.last;
  const std::vector<Bucket>& buckets = history_.buckets();
  const auto after = std::lower_bound(buckets.begin(), buckets.end(), value, [](const Bucket& bucket, double at) {
    return static_cast<double>(bucket.last_us) < at;
  });
  if (after == buckets.end()) return all.last;
  const double begin = begin_of(static_cast<std::size_t>(after - buckets.begin()));
  const double end = static_cast<double>(after->last_us);
  const double part = end > begin ? (value - begin) / (end - begin) : 1;
  const auto steps = std::llround(part * static_cast<double>(after->commits.commits()));
  return std::max(all.first, after->commits.first - 1 + static_cast<std::uint64_t>(std::max(0LL, steps)));
}

std::vector<TimeAxis::Mark> TimeAxis::marks(double from, double to, std::size_t most) const {
  std::vector<Mark> marks;
  const double unit = by_clock_ ? 1e6 : 1, span = (to - from) / unit;
  if (!(span > 0)) return marks;
  const double step = by_clock_ ? nice_seconds(span, most) : std::max(1.0, nice_step(span, most));
  const double begin = std::ceil(from / unit / step) * step;
  for (std::size_t i = 0; i <= 2 * most; ++i) {  // far from 0, adding a small step may change nothing
    const double at = begin + static_cast<double>(i) * step;
    if (!(at <= to / unit + span * 1e-6)) break;
    marks.push_back({at * unit, by_clock_ ? clock(at, step) : grouped(static_cast<std::uint64_t>(at))});
  }
  return marks;
}

std::string TimeAxis::length_words(double length) const {
  return by_clock_ ? duration(length / 1e6) : plural(static_cast<std::uint64_t>(std::llround(length)), "commit");
}

}  // namespace canopy::inspector
