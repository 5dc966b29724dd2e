#include "bucket.h"

#include <algorithm>

namespace canopy::inspector {

Counts& Bucket::of(std::uint32_t row) {
  const auto known = std::find_if(tenants.begin(), tenants.end(), [&](const auto& each) { return each.row == row; });
  return known != tenants.end() ? known->counts : tenants.emplace_back(TenantCounts{row, {}}).counts;
}

void Bucket::add(const Bucket& next) {
  commits.last = next.commits.last, last_us = next.last_us;
  counts += next.counts;
  for (std::size_t i = 0; i < kReasons; ++i) missed[i] += next.missed[i];
  for (std::size_t i = 0; i < kEvictionCauses; ++i) evicted[i] += next.evicted[i];
  for (std::size_t i = 0; i < traffic.size(); ++i) traffic[i] += next.traffic[i];
  running = next.running;
  for (const TenantCounts& each : next.tenants) of(each.row) += each.counts;
  pools = next.pools;
  held = next.held;
  hits.add(next.hits), waste.add(next.waste), regret.add(next.regret);
}

}  // namespace canopy::inspector
