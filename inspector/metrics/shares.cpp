#include "shares.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace canopy::metrics {
namespace {

using inspector::MirrorTenant;

/// Returns the label of a tenant. A name in brackets could be mistaken for one of Canopy's own.
std::string label_of(const MirrorTenant& tenant) {
  return tenant.name.starts_with('(') ? "'" + tenant.name + "'" : tenant.shown_name();
}

void add(ShareFigures& row, const MirrorTenant& tenant, std::uint64_t cached) {
  row.cached += cached, row.floor += tenant.floor;
  row.evicted += tenant.evicted, row.paid += tenant.paid, row.taken += tenant.taken;
  row.below_floor += tenant.below_floor;
}

}  // namespace

void Shares::choose(const inspector::Mirror& mirror) {
  const std::vector<MirrorTenant>& all = mirror.tenants().all;
  if (chosen_.size() >= std::min(most_, all.size())) return;
  const std::vector<std::uint64_t> cached = mirror.tenant_tokens();
  std::vector<std::size_t> order(all.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return cached[a] != cached[b] ? cached[a] > cached[b] : a < b; });
  for (const std::size_t i : order)
    if (chosen_.size() < most_) chosen_.insert(all[i].name);
}

std::vector<ShareFigures> Shares::figures(const inspector::Mirror& mirror) const {
  std::vector<ShareFigures> rows;
  const std::vector<MirrorTenant>& all = mirror.tenants().all;
  if (all.empty()) return rows;
  const std::vector<std::uint64_t> cached = mirror.tenant_tokens();
  ShareFigures others{.label = kOthers};
  bool any_other = false;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!chosen_.contains(all[i].name)) {
      add(others, all[i], cached[i]);
      any_other = true;
      continue;
    }
    ShareFigures& row = rows.emplace_back(ShareFigures{.label = label_of(all[i])});
    add(row, all[i], cached[i]);
    row.weight = all[i].weight;
    if (all[i].ceiling != kUnlimited) row.ceiling = all[i].ceiling;
  }
  if (any_other) rows.push_back(std::move(others));
  return rows;
}

}  // namespace canopy::metrics
