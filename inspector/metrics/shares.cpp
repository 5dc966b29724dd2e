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

template <class Totals>
void add(Totals& to, const auto& more) {
  to.evicted += more.evicted, to.paid += more.paid, to.taken += more.taken, to.below_floor += more.below_floor;
}

}  // namespace

Shares::Kept& Shares::kept(const std::string& tenant) {
  const auto chosen = chosen_.find(tenant);
  return chosen == chosen_.end() ? others_ : chosen->second;
}

void Shares::choose(const inspector::Mirror& mirror) {
  const std::vector<MirrorTenant>& all = mirror.tenants().all;
  if (std::exchange(looked_at_, all.size()) == all.size()) return;
  const std::vector<std::uint64_t> cached = mirror.tenant_tokens();
  std::vector<std::size_t> order(all.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return cached[a] != cached[b] ? cached[a] > cached[b] : a < b; });
  for (const std::size_t i : order) {
    if (chosen_.size() < most_) chosen_.try_emplace(all[i].name);
    any_other_ = any_other_ || !chosen_.contains(all[i].name);
  }
}

void Shares::keep(const inspector::Mirror& mirror) {
  for (const MirrorTenant& tenant : mirror.tenants().all) add(kept(tenant.name), tenant);
  looked_at_ = 0;
}

std::vector<ShareFigures> Shares::figures(const inspector::Mirror* mirror) const {
  std::map<std::string, ShareFigures> rows;
  ShareFigures others{.label = kOthers};
  add(others, others_);
  for (const auto& [name, totals] : chosen_) {
    ShareFigures& row = rows[name];
    row.label = label_of({.name = name});
    add(row, totals);
  }
  if (mirror) {
    const std::vector<MirrorTenant>& all = mirror->tenants().all;
    const std::vector<std::uint64_t> cached = mirror->tenant_tokens();
    for (std::size_t i = 0; i < all.size(); ++i) {
      const MirrorTenant& tenant = all[i];
      const auto chosen = rows.find(tenant.name);
      ShareFigures& row = chosen == rows.end() ? others : chosen->second;
      add(row, tenant);
      if (!mirror->in_step()) continue;
      row.cached = row.cached.value_or(0) + cached[i], row.floor = row.floor.value_or(0) + tenant.floor;
      if (chosen == rows.end()) continue;
      row.weight = tenant.weight;
      if (tenant.ceiling != kUnlimited) row.ceiling = tenant.ceiling;
    }
  }
  std::vector<ShareFigures> list;
  for (auto& [name, row] : rows) list.push_back(std::move(row));
  if (any_other_) list.push_back(std::move(others));
  return list;
}

}  // namespace canopy::metrics
