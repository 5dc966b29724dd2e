#include <algorithm>

#include "apply.h"
#include "mirror.h"

namespace canopy::inspector {

/// Returns a tenant, or null if there is none with this number. Tenants are reported in order, so `add` adds only the
/// next one.
MirrorTenant* Apply::tenant_at(std::uint32_t number, bool add) {
  std::vector<MirrorTenant>& all = state_.tenants.all;
  if (add && number == all.size() && number < event::kMostTenants) all.emplace_back();
  return number < all.size() ? &all[number] : nullptr;
}

void Apply::operator()(const event::TenantShare& share) {
  MirrorTenant* const tenant = tenant_at(share.tenant, true);
  if (!tenant) return;
  tenant->floor = share.floor, tenant->ceiling = share.ceiling;
  tenant->weight = static_cast<double>(share.weight) / 1e6;
}

void Apply::operator()(const event::TenantOfSpace& of) {
  const auto space = static_cast<std::size_t>(of.space);
  if (tenant_at(of.tenant, false) && space < state_.spaces.size()) state_.spaces[space].tenant = of.tenant;
}

void Apply::operator()(const event::TenantEvicted& evicted) {
  MirrorTenants& tenants = state_.tenants;
  MirrorTenant* const from = tenant_at(evicted.from, false);
  MirrorTenant* const taker = tenant_at(evicted.taker, false);
  if (from) from->evicted += evicted.tokens, from->below_floor += evicted.below_floor;
  if (evicted.from == evicted.taker || evicted.taker == event::kNoTenant) return;
  if (from) from->paid += evicted.tokens;
  if (taker) taker->taken += evicted.tokens;
  if (from && taker) {
    const std::pair pair(evicted.from, evicted.taker);
    const auto known = tenants.payments.find(pair);
    if (known != tenants.payments.end()) known->second += evicted.tokens;
    else if (tenants.payments.size() < MirrorTenants::kMostPairs) tenants.payments.emplace(pair, evicted.tokens);
    else tenants.other_payments += evicted.tokens;
    if (watcher_ && !state_.now.keyframe) watcher_->paid(evicted.from, evicted.taker, evicted.tokens);
  } else if (from) {
    tenants.other_payments += evicted.tokens;  // a payer's part of it; the takers' parts are the same tokens
  }
}

void Apply::operator()(const event::EvictedFor& evicted) {
  if (static_cast<std::size_t>(evicted.space) < state_.spaces.size()) state_.now.line.taker = evicted.space;
}

void Apply::count_tenant(const MirrorRequest& request) {
  const auto space = static_cast<std::size_t>(request.space);
  MirrorTenant* const tenant = tenant_at(space < state_.spaces.size() ? state_.spaces[space].tenant : 0, false);
  if (!tenant) return;
  ++tenant->requests;
  tenant->prompt_tokens += request.prompt;
  tenant->hit_tokens += request.matched;
}

std::vector<double> shares_of(const MirrorTenants& tenants, const std::vector<std::uint64_t>& cached,
                              std::uint64_t pool) {
  double weights = 0, floors = 0;
  for (std::size_t i = 0; i < tenants.all.size(); ++i)
    if (cached[i] > 0) weights += tenants.all[i].weight, floors += static_cast<double>(tenants.all[i].floor);
  const double rest = std::max(0.0, static_cast<double>(pool) - floors);
  std::vector<double> shares;
  for (std::size_t i = 0; i < tenants.all.size(); ++i) {
    const MirrorTenant& tenant = tenants.all[i];
    const double floor = static_cast<double>(tenant.floor), part = cached[i] > 0 ? rest * tenant.weight / weights : 0;
    shares.push_back(std::min(floor + part, static_cast<double>(tenant.ceiling)));
  }
  return shares;
}

std::vector<std::uint64_t> Mirror::tenant_tokens() const {
  std::vector<std::uint64_t> tokens(state_.tenants.all.size());
  for (const Space& space : state_.spaces)
    if (space.tenant < tokens.size()) tokens[space.tenant] += space.tokens;
  return tokens;
}

}  // namespace canopy::inspector
