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

TimeAxis::TimeAxis(const History& history, AxisBy by) : TimeAxis(history, unit_of(history, by), 0) {}

TimeAxis::Unit TimeAxis::unit_of(const History& history, AxisBy by) {
  if (history.empty()) return Unit::commits;
  const auto has = [&](Count count) {
    return std::ranges::any_of(history.buckets(), [&](const Bucket& bucket) { return bucket.counts[count] > 0; });
  };
  if (by == AxisBy::requests && has(Count::requests)) return Unit::requests;
  if (by == AxisBy::prompts && has(Count::prompt)) return Unit::prompts;
  return history.buckets().back().last_us > history.first_operation().us ? Unit::clock : Unit::commits;
}

TimeAxis::TimeAxis(const History& history, Unit unit, double begin) : history_(history), unit_(unit) {
  if (history.empty()) return;
  const std::vector<Bucket>& buckets = history.buckets();
  first_ = unit == Unit::clock     ? static_cast<double>(history.first_operation().us)
           : unit == Unit::commits ? static_cast<double>(buckets.front().commits.first - 1)
                                   : begin;
  ends_.reserve(buckets.size());
  double sum = first_;
  for (const Bucket& bucket : buckets) {
    if (unit == Unit::clock) sum = std::max(first_, static_cast<double>(bucket.last_us));
    else if (unit == Unit::commits) sum = static_cast<double>(bucket.commits.last);
    else sum += static_cast<double>(bucket.counts[unit == Unit::requests ? Count::requests : Count::prompt]);
    ends_.push_back(sum);
  }
  last_ = ends_.back();
}

TimeAxis TimeAxis::of(const History& part) const {
  return {part, unit_, part.empty() ? 0 : value_of(part.all().first - 1)};
}

const char* TimeAxis::unit_word() const {
  constexpr std::array<const char*, 4> kWords = {"", "commit", "request", "prompt tok"};
  return kWords[static_cast<std::size_t>(unit_)];
}

double TimeAxis::value_of(std::uint64_t commit) const {
  if (history_.empty()) return 0;
  if (unit_ == Unit::commits) return std::clamp(static_cast<double>(commit), first_, last_);
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
  if (unit_ == Unit::commits)
    return std::clamp(static_cast<std::uint64_t>(std::max(0LL, std::llround(value))), all.first, all.last);
  if (value >= last_) return all.last;
  const auto after = std::lower_bound(ends_.begin(), ends_.end(), value);
  if (after == ends_.end()) return all.last;
  const auto bucket = static_cast<std::size_t>(after - ends_.begin());
  const CommitRange commits = history_.buckets()[bucket].commits;
  const double begin = begin_of(bucket), end = *after;
  const double part = end > begin ? (value - begin) / (end - begin) : 1;
  const auto steps = std::llround(part * static_cast<double>(commits.commits()));
  return std::max(all.first, commits.first - 1 + static_cast<std::uint64_t>(std::max(0LL, steps)));
}

std::vector<TimeAxis::Mark> TimeAxis::marks(double from, double to, std::size_t most) const {
  std::vector<Mark> marks;
  const double unit = by_clock() ? 1e6 : 1, span = (to - from) / unit;
  if (!(span > 0)) return marks;
  const double step = by_clock() ? nice_seconds(span, most) : std::max(1.0, nice_step(span, most));
  const double begin = std::ceil(from / unit / step) * step;
  for (std::size_t i = 0; i <= 2 * most; ++i) {  // far from 0, adding a small step may change nothing
    const double at = begin + static_cast<double>(i) * step;
    if (!(at <= to / unit + span * 1e-6)) break;
    marks.push_back({at * unit, by_clock() ? clock(at, step) : grouped(static_cast<std::uint64_t>(at))});
  }
  return marks;
}

std::string TimeAxis::length_words(double length) const {
  constexpr std::array<const char*, 4> kOne = {"", "commit", "request", "prompt token"};
  return by_clock() ? duration(length / 1e6)
                    : plural(static_cast<std::uint64_t>(std::llround(length)), kOne[static_cast<std::size_t>(unit_)]);
}

std::string TimeAxis::position_words(double value) const {
  if (by_clock()) return duration(value / 1e6) + " after the start";
  return "after " + length_words(value);
}

}  // namespace canopy::inspector
