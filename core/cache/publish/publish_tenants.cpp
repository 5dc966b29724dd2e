#include <cmath>

#include <cache/tenants/tenants.h>
#include "publisher.h"

namespace canopy {
namespace {

std::uint32_t number_of(TenantId tenant) { return static_cast<std::uint32_t>(tenant); }

}  // namespace

void Publisher::push_share(TenantId tenant) {
  const TenantUse& figures = state_.tenants->counted(tenant);
  feed_.push_text(TextKind::tenant, number_of(tenant), figures.name);
  feed_.push(event::TenantShare{.tenant = number_of(tenant),
                                .floor = figures.share.floor,
                                .ceiling = figures.share.ceiling,
                                .weight = static_cast<std::uint64_t>(std::llround(figures.share.weight * 1e6))});
}

void Publisher::new_tenants() {
  for (; tenants_sent_ < state_.tenants->size(); ++tenants_sent_) push_share(static_cast<TenantId>(tenants_sent_));
}

void Publisher::tenant_of(NamespaceId space) {
  const TenantId tenant = state_.tenants->of(space);
  new_tenants();
  if (tenant != TenantId::unnamed) feed_.push(event::TenantOfSpace{.tenant = number_of(tenant), .space = space});
}

void Publisher::share(TenantId tenant) {
  if (!on()) return;
  const bool is_new = number_of(tenant) >= tenants_sent_;
  new_tenants();
  if (!is_new) return push_share(tenant);
  // Namespaces that had the share of all others may have become those of the new tenant.
  for (std::size_t i = 0; i < state_.spaces.size(); ++i) tenant_of(static_cast<NamespaceId>(i));
}

void Publisher::evicted(TenantId from, std::optional<TenantId> taker, std::uint64_t pages, bool below_floor) {
  if (!on() || pages == 0) return;
  const std::uint64_t tokens = pages * state_.page_size;
  feed_.push(event::TenantEvicted{.from = number_of(from),
                                  .taker = taker ? number_of(*taker) : event::kNoTenant,
                                  .tokens = tokens,
                                  .below_floor = below_floor ? tokens : 0});
}

/// Pushes all shares, the tenant of each namespace, and the evictions so far.
void Publisher::tenants() {
  tenants_sent_ = 0;
  new_tenants();
  for (std::size_t i = 0; i < state_.spaces.size(); ++i) tenant_of(static_cast<NamespaceId>(i));
  // Tokens in no pair were paid to tenants that are not known, taken from such, or lost to no other tenant.
  for (const auto& [pair, tokens] : state_.tenants->pairs())
    feed_.push(event::TenantEvicted{.from = number_of(pair.first), .taker = number_of(pair.second), .tokens = tokens});
  for (std::uint32_t i = 0; i < tenants_sent_; ++i) {
    const auto tenant = static_cast<TenantId>(i);
    const TenantUse& figures = state_.tenants->counted(tenant);
    const auto some = [&](std::uint32_t from, std::uint32_t taker, std::uint64_t tokens, std::uint64_t below = 0) {
      if (tokens + below > 0)
        feed_.push(event::TenantEvicted{.from = from, .taker = taker, .tokens = tokens, .below_floor = below});
    };
    some(i, event::kSomeTenant, state_.tenants->unpaired(tenant).paid);
    some(event::kSomeTenant, i, state_.tenants->unpaired(tenant).taken);
    some(i, event::kNoTenant, figures.evicted - figures.paid, figures.below_floor);
  }
}

}  // namespace canopy
