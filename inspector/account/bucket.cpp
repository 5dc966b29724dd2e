#include "bucket.h"

#include <algorithm>
#include <utility>

namespace canopy::inspector {

TenantCounts& Bucket::tenant(std::uint32_t row) {
  const auto at = std::ranges::lower_bound(tenants, row, {}, &TenantCounts::row);
  if (at != tenants.end() && at->row == row) return *at;
  return *tenants.insert(at, TenantCounts{row, {}, 0});
}

std::uint64_t& Bucket::missed_of(std::uint32_t row, std::uint32_t reason) {
  const auto place = [](const TenantMissed& each) { return std::pair(each.row, each.reason); };
  const auto at = std::ranges::lower_bound(tenants_missed, std::pair(row, reason), {}, place);
  if (at != tenants_missed.end() && place(*at) == std::pair(row, reason)) return at->tokens;
  return tenants_missed.insert(at, TenantMissed{row, reason, 0})->tokens;
}

void Bucket::pay(const PaidTokens& more) {
  const auto known = std::find_if(paid.begin(), paid.end(), [&](const PaidTokens& each) {
    return each.from == more.from && each.taker == more.taker;
  });
  if (known != paid.end()) known->tokens += more.tokens;
  else if (paid.size() < kMostPaid) paid.push_back(more);
  else other_paid += more.tokens;
}

void Bucket::add(const Bucket& next) {
  commits.last = next.commits.last, last_us = next.last_us;
  if (next.idle.us() > idle.us()) idle = next.idle;
  counts += next.counts;
  for (std::size_t i = 0; i < kReasons; ++i) missed[i] += next.missed[i];
  for (std::size_t i = 0; i < kEvictionCauses; ++i) evicted[i] += next.evicted[i];
  for (std::size_t i = 0; i < traffic.size(); ++i) traffic[i] += next.traffic[i];
  for (std::size_t i = 0; i < kept.size(); ++i) kept[i] += next.kept[i];
  running = next.running;
  for (const TenantCounts& each : next.tenants) {
    TenantCounts& sum = tenant(each.row);
    sum.counts += each.counts, sum.locked_us += each.locked_us;
  }
  for (const TenantMissed& each : next.tenants_missed) missed_of(each.row, each.reason) += each.tokens;
  for (const PaidTokens& each : next.paid) pay(each);
  other_paid += next.other_paid;
  pools = next.pools;
  held = next.held;
  for (std::size_t i = 0; i < histograms.size(); ++i) histograms[i].add(next.histograms[i]);
  hits.add(next.hits), waste.add(next.waste), regret.add(next.regret);
}

}  // namespace canopy::inspector
