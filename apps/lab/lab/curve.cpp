#include "curve.h"

#include <canopy/base/figures.h>
#include <canopy/base/random.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "stack.h"

namespace canopy::lab {
namespace {

constexpr std::size_t kParts = 8;
/// Least number of sampled pages that a pool must hold to be a point.
constexpr double kLeastUnits = 32;
/// Factor of Student's distribution with kParts - 1 degrees of freedom: 95 % lie within it.
constexpr double kWithin = 2.365;

/// Returns 1, 1.2, 1.5, 2, ... times each power of ten, between two bounds.
std::vector<std::uint64_t> round_numbers(std::uint64_t from, std::uint64_t until) {
  std::vector<std::uint64_t> all;
  for (std::uint64_t power = 1; power <= until && power < std::uint64_t{1} << 58; power *= 10)
    for (const std::uint64_t tenths : {10u, 12u, 15u, 20u, 25u, 30u, 40u, 50u, 60u, 80u})
      if (const std::uint64_t number = power * tenths / 10; number >= from && number < until) all.push_back(number);
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

}  // namespace

CurveBuilder::CurveBuilder(const Options& options)
    : options_(options), cut_{options.page_size, 0, options.blocks}, parts_(1), taken_(1) {
  parts_[0].rate = options.sample;
  if (!sampled()) return;
  parts_.resize(1 + kParts);
  taken_.resize(parts_.size());
  for (std::size_t i = 1; i < parts_.size(); ++i) parts_[i].rate = options.sample / kParts;
}

void CurveBuilder::add(const workload::ClientRequest& request) {
  const auto space = spaces_.emplace(request.space, static_cast<std::uint32_t>(spaces_.size())).first->second;
  print_units(cut_, static_cast<NamespaceId>(space), request.prompt, prints_);
  const bool counts = arrivals_.size() >= options_.warm_up;
  const std::uint64_t tokens = cut_.tokens(prints_.size(), request.prompt.size());
  arrivals_.push_back({request.arrival_ms, static_cast<std::uint32_t>(request.prompt.size())});
  largest_ = std::max(largest_, tokens);
  if (counts) {
    units_ += prints_.size();
    unit_tokens_ += tokens;
    prompt_tokens_ += request.prompt.size();
  }
  if (!sampled()) {
    parts_[0].history.add(prints_);
    parts_[0].units += counts ? prints_.size() : 0;
    return;
  }
  for (auto& taken : taken_) taken.clear();
  const double each = 0x1p64 * options_.sample / kParts;
  for (const std::uint64_t print : prints_) {
    const double part = static_cast<double>(splitmix64(print)) / each;
    if (part >= kParts) continue;
    taken_[0].push_back(print);
    taken_[1 + static_cast<std::size_t>(part)].push_back(print);
  }
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    parts_[i].history.add(taken_[i]);
    parts_[i].units += counts ? taken_[i].size() : 0;
  }
}

std::vector<CurveBuilder::Distance> CurveBuilder::distances_of(const Part& part) const {
  const Stack stack(part.history);
  std::vector<Distance> all;
  std::size_t at = 0;
  for (std::uint32_t request = 0; request < part.history.requests(); ++request)
    for (const Reuse& reuse : part.history.reuses(request)) {
      const std::uint64_t before = stack.before()[at++];
      if (request >= options_.warm_up) all.push_back({before, reuse.end - reuse.begin, request, reuse.by});
    }
  return all;
}

CurvePoint CurveBuilder::exact_point(std::uint64_t capacity, const std::vector<Distance>& distances) const {
  CurvePoint point;
  point.capacity_tokens = capacity;
  const std::uint64_t units = capacity / cut_.unit;
  for (std::size_t i = 0; i < distances.size();) {
    const std::uint32_t request = distances[i].request;
    std::uint64_t hits = 0;
    for (; i < distances.size() && distances[i].request == request; ++i)
      hits += std::min<std::uint64_t>(distances[i].length, units - std::min(units, distances[i].before));
    point.hit_tokens += cut_.tokens(hits, arrivals_[request].prompt_tokens);
  }
  point.stay_ms = stay_ms(static_cast<double>(units), distances);
  return point;
}

/// Returns how many of all counted units are hits, estimated from one part of the sample.
double CurveBuilder::hit_units(double capacity, std::size_t part, const std::vector<Distance>& distances) const {
  double hits = 0;
  for (const Distance& distance : distances)
    hits += std::clamp(capacity * parts_[part].rate - static_cast<double>(distance.before), 0.0,
                       static_cast<double>(distance.length));
  // Scales misses, not hits: a unit that every request has is in one part, where its hits would weigh far too much, but
  // it is hardly ever missed.
  return static_cast<double>(units_) - (static_cast<double>(parts_[part].units) - hits) / parts_[part].rate;
}

CurvePoint CurveBuilder::sampled_point(std::uint64_t capacity, const std::vector<std::vector<Distance>>& parts) const {
  const auto units = static_cast<double>(capacity / cut_.unit);
  const double whole = hit_units(units, 0, parts[0]);
  std::vector<double> hits;
  double mean = 0, squares = 0;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    hits.push_back(hit_units(units, i, parts[i]));
    mean += hits.back() / kParts;
  }
  for (const double each : hits) squares += (each - mean) * (each - mean);
  // The loss from a small sample falls with its size: the whole sample loses an eighth of what its parts lose, so half
  // of the difference is more than enough.
  const double error = kWithin * std::sqrt(squares / (kParts - 1) / kParts) + std::abs(mean - whole) / 2;
  const double tokens = units_ ? static_cast<double>(unit_tokens_) / static_cast<double>(units_) : 0;
  CurvePoint point;
  point.capacity_tokens = capacity;
  point.hit_tokens = static_cast<std::uint64_t>(std::llround(std::max(0.0, whole * tokens)));
  point.error = prompt_tokens_ ? error * tokens / static_cast<double>(prompt_tokens_) : 0;
  point.stay_ms = stay_ms(units * parts_[0].rate, parts[0]);
  return point;
}

std::optional<std::uint64_t> CurveBuilder::stay_ms(double capacity, const std::vector<Distance>& distances) const {
  constexpr std::size_t kFew = 10;
  std::vector<std::uint64_t> ages;
  bool has_times = false;
  for (const Distance& distance : distances) {
    const std::uint64_t now = arrivals_[distance.request].arrival_ms, then = arrivals_[distance.by].arrival_ms;
    has_times |= now != then;
    const auto before = static_cast<double>(distance.before);
    if (before > capacity * 0.8 && before < capacity * 1.25) ages.push_back(now - std::min(now, then));
  }
  if (!has_times || ages.size() < kFew) return {};
  const auto middle = ages.begin() + static_cast<std::ptrdiff_t>(ages.size() / 2);
  std::nth_element(ages.begin(), middle, ages.end());
  return *middle;
}

std::uint64_t CurveBuilder::distinct_tokens() const {
  const History& history = parts_[0].history;
  if (sampled())
    return static_cast<std::uint64_t>(static_cast<double>(history.distinct_units()) / parts_[0].rate) * cut_.unit;
  std::uint64_t all = 0;
  for (std::uint32_t request = 0; request < history.requests(); ++request)
    all += cut_.tokens(history.units(request), arrivals_[request].prompt_tokens) -
           cut_.tokens(history.seen(request), arrivals_[request].prompt_tokens);
  return all;
}

std::string CurveBuilder::flaw_of_sample() const {
  const std::uint64_t pages = parts_[0].history.distinct_units();
  if (!sampled() || static_cast<double>(pages) >= kLeastUnits) return {};
  return fmt::format("a sample of {} has {} of the trace; expected at least {}, so take a larger one", options_.sample,
                     plural(pages, "different page"), kLeastUnits);
}

Curve CurveBuilder::curve(std::span<const std::uint64_t> capacities, std::span<const std::uint64_t> more) const {
  Curve curve;
  curve.page_size = cut_.unit;
  curve.requests = arrivals_.size() - std::min<std::uint64_t>(options_.warm_up, arrivals_.size());
  curve.prompt_tokens = prompt_tokens_;
  curve.largest_request = largest_;
  std::vector<std::vector<Distance>> parts;
  for (const Part& part : parts_) parts.push_back(distances_of(part));
  double enough = 0;
  for (const Distance& distance : parts[0])
    enough = std::max(enough, static_cast<double>(distance.before + distance.length) / parts_[0].rate);
  if (sampled()) curve.least_capacity = static_cast<std::uint64_t>(kLeastUnits / options_.sample) * cut_.unit;
  curve.enough_tokens = static_cast<std::uint64_t>(std::ceil(enough)) * cut_.unit;
  const auto point = [&](std::uint64_t capacity) {
    CurvePoint made = sampled() ? sampled_point(capacity, parts) : exact_point(capacity, parts[0]);
    made.hit_rate = prompt_tokens_ ? static_cast<double>(made.hit_tokens) / static_cast<double>(prompt_tokens_) : 0;
    return made;
  };
  curve.infinite_tokens = point(curve.enough_tokens).hit_tokens;
  const auto smallest_for = [&](double share) {
    std::uint64_t least = curve.least_capacity / cut_.unit, most = std::max(least, curve.enough_tokens / cut_.unit);
    while (least < most) {
      const std::uint64_t middle = least + (most - least) / 2;
      const auto hits = static_cast<double>(point(middle * cut_.unit).hit_tokens);
      if (hits >= share * static_cast<double>(curve.infinite_tokens)) most = middle;
      else least = middle + 1;
    }
    return most * cut_.unit;
  };
  curve.half_tokens = smallest_for(0.5);
  curve.most_tokens = smallest_for(0.9);

  std::vector<std::uint64_t> all(capacities.begin(), capacities.end());
  if (all.empty()) {
    all = round_numbers(std::max<std::uint64_t>(cut_.unit, curve.enough_tokens / 1000), curve.enough_tokens);
    all.push_back(std::max<std::uint64_t>(curve.enough_tokens, cut_.unit));
  }
  all.insert(all.end(), more.begin(), more.end());
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  std::erase_if(all, [&](std::uint64_t capacity) { return capacity < curve.least_capacity; });
  for (const std::uint64_t capacity : all) curve.points.push_back(point(capacity));
  return curve;
}

}  // namespace canopy::lab
