#include "range_figures.h"

#include <algorithm>
#include <map>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace canopy::inspector {
namespace {

constexpr std::size_t kMostPrefixes = 100;

/// Sums prefixes over buckets.
class PrefixSums {
 public:
  void add(const TopPrefixes& some) {
    for (const PrefixFigure& figure : some.all()) {
      PrefixFigure& sum = sums_[figure.lineage];
      const PrefixFigure before = sum;
      sum = figure;
      sum.times += before.times, sum.tokens += before.tokens, sum.over += before.over;
    }
  }
  std::vector<PrefixFigure> most() const {
    std::vector<PrefixFigure> all;
    for (const auto& [lineage, figure] : sums_)
      if (figure.sure() > 0) all.push_back(figure);
    std::sort(all.begin(), all.end(), [](const PrefixFigure& a, const PrefixFigure& b) {
      return a.sure() != b.sure() ? a.sure() > b.sure() : a.lineage < b.lineage;
    });
    if (all.size() > kMostPrefixes) all.resize(kMostPrefixes);
    return all;
  }

 private:
  std::unordered_map<std::uint64_t, PrefixFigure> sums_;
};

/// Leaves only the figures of one tenant.
void keep_only(const History& history, std::span<const Bucket> buckets, std::uint32_t tenant, RangeFigures& sum) {
  std::erase_if(sum.tenants, [&](const TenantFigures& each) { return each.row != tenant; });
  sum.counts = sum.tenants.empty() ? Counts{} : sum.tenants.front().counts;
  sum.held = sum.tenants.empty() ? 0 : sum.tenants.front().held;
  sum.missed = {}, sum.evicted = {}, sum.traffic = {}, sum.kept = {};
  for (const Bucket& bucket : buckets)
    for (const TenantMissed& each : bucket.tenants_missed)
      if (each.row == tenant) sum.missed[each.reason] += each.tokens;
  for (std::vector<PrefixFigure>* prefixes : {&sum.hits, &sum.waste, &sum.regret})
    std::erase_if(*prefixes, [&](const PrefixFigure& each) { return history.row_of(each.space) != tenant; });
}

}  // namespace

std::vector<WhatIf> what_if(const RangeFigures& figures, std::uint32_t page_size, const std::string& group) {
  const double prompt = static_cast<double>(figures.counts[Count::prompt]);
  const std::uint64_t hit = figures.counts[Count::hit];
  std::vector<WhatIf> all;
  if (prompt == 0) return all;
  const auto add = [&](std::string with, std::uint64_t more, Bound bound, std::string help) {
    all.push_back({std::move(with), std::move(help), std::min(1.0, static_cast<double>(hit + more) / prompt), bound});
  };
  add("as it was", 0, Bound::none, "Share of prompt tokens that were found.");
  for (std::size_t i = 0; i < kLargerPools.size(); ++i) {
    if (kLargerPools[i] == kUnlimited)
      add(group + ", no limit", figures.kept[i], figures.kept_bound,
          "Nothing is evicted for room: all prompt tokens that were evicted so and computed again would be found.");
    else
      add(group + " +" + std::to_string(kLargerPools[i] - 100) + " %", figures.kept[i], Bound::about,
          "Estimated: a prefix would have stayed if all that was evicted between its own eviction and its return had "
          "had room too.");
  }
  if (page_size > 1)
    add("page 1", figures.counts[Count::requests] * (page_size - 1), Bound::about,
        "With pages of 1 token each request would find up to " + std::to_string(page_size - 1) +
            " tokens more, since a match ends at the end of a page; other pages would be evicted, too.");
  return all;
}

void sort_paid(std::vector<PaidTokens>& paid) {
  std::sort(paid.begin(), paid.end(), [](const PaidTokens& a, const PaidTokens& b) {
    return std::tie(b.tokens, a.from, a.taker) < std::tie(a.tokens, b.from, b.taker);
  });
}

RangeFigures figures_of(const History& history, CommitRange range, std::optional<std::uint32_t> tenant, bool all) {
  RangeFigures sum;
  const auto [first, end] = history.places(range.empty() ? history.all() : range);
  if (first >= end) return sum;
  const std::vector<Bucket>& buckets = history.buckets();
  sum.commits = {buckets[first].commits.first, buckets[end - 1].commits.last};
  sum.bound = history.bound(), sum.kept_bound = history.kept_bound(), sum.has_requests = history.has_requests();
  // The first operation of the range took the time since the one before it.
  sum.first_us = first > 0 ? buckets[first - 1].last_us : buckets[first].first_us;
  sum.last_us = buckets[end - 1].last_us;
  std::vector<TenantFigures> rows(history.tenants().size());
  PrefixSums hits, waste, regret;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> paid;
  for (std::size_t i = first; i < end; ++i) {
    const Bucket& bucket = buckets[i];
    sum.counts += bucket.counts;
    for (std::size_t r = 0; r < kReasons; ++r) sum.missed[r] += bucket.missed[r];
    for (std::size_t c = 0; c < kEvictionCauses; ++c) sum.evicted[c] += bucket.evicted[c];
    for (std::size_t t = 0; t < sum.traffic.size(); ++t) sum.traffic[t] += bucket.traffic[t];
    for (std::size_t k = 0; k < sum.kept.size(); ++k) sum.kept[k] += bucket.kept[k];
    for (const TenantCounts& each : bucket.tenants)
      rows[each.row].counts += each.counts, rows[each.row].locked_us += each.locked_us;
    for (const PaidTokens& each : bucket.paid) paid[{each.from, each.taker}] += each.tokens;
    sum.other_paid += bucket.other_paid;
    if (!all) continue;
    hits.add(bucket.hits), waste.add(bucket.waste), regret.add(bucket.regret);
    for (std::size_t h = 0; h < sum.histograms.size(); ++h) sum.histograms[h].add(bucket.histograms[h]);
  }
  const std::vector<std::uint64_t>& held = history.held(end - 1);
  for (std::size_t row = 0; row < held.size() && row < rows.size(); ++row)
    rows[row].held = held[row], sum.held += held[row];
  for (std::size_t row = 0; row < rows.size(); ++row) {
    TenantFigures& each = rows[row];
    if (each.counts == Counts{} && each.held == 0 && each.locked_us == 0) continue;
    each.row = static_cast<std::uint32_t>(row), each.name = history.tenants()[row].name;
    sum.tenants.push_back(std::move(each));
  }
  for (const auto& [pair, tokens] : paid) sum.paid.push_back({pair.first, pair.second, tokens});
  sort_paid(sum.paid);
  sum.hits = hits.most(), sum.waste = waste.most(), sum.regret = regret.most();
  if (tenant) keep_only(history, std::span(buckets).subspan(first, end - first), *tenant, sum);
  return sum;
}

}  // namespace canopy::inspector
