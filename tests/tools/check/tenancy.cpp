#include "tenancy.h"

#include <algorithm>

#include <program/mismatch.h>

namespace canopy::check {

using test::disagree;

Tenancy::Tenancy(const Engine& engine)
    : engine_(engine), before_(engine.tenants()), limit_(engine.pool(0).limit()), offered_(engine.pool(0).offered()) {}

bool Tenancy::any_ceiling() const {
  return std::ranges::any_of(before_, [](const TenantUse& of) { return of.share.ceiling != kUnlimited; });
}

bool Tenancy::keeps() const {
  return std::ranges::any_of(before_, [](const TenantUse& of) { return of.kept > 0; });
}

void Tenancy::check_sums(const std::vector<TenantUse>& now) const {
  std::uint64_t cached = 0, locked = 0;
  for (const TenantUse& of : now) cached += of.cached, locked += of.locked;
  const Sizes sizes = engine_.index().sizes(0);
  if (cached != sizes.evictable + sizes.protected_ || locked != sizes.protected_)
    disagree("the tenants have {} tokens, {} of them locked, and the index has {} and {}", cached, locked,
             sizes.evictable + sizes.protected_, sizes.protected_);
  for (const TenantUse& of : now) {
    // A lock of a group with a reach holds only the end of what is kept.
    if (of.kept > of.locked && engine_.pool(0).needs().whole_path())
      disagree("tenant '{}' keeps {} tokens, and locks hold {}", of.name, of.kept, of.locked);
    if (of.paid > of.evicted || of.below_floor > of.evicted)
      disagree("tenant '{}' lost {} tokens, and paid {}, {} of them below its floor", of.name, of.evicted, of.paid,
               of.below_floor);
  }
}

void Tenancy::check(std::optional<std::string_view> tenant, bool reserved, bool no_memory) {
  if (!any()) return;
  const std::vector<TenantUse> now = engine_.tenants();
  check_sums(now);
  std::uint64_t floors = 0;
  for (const TenantUse& of : now) floors += of.share.floor;
  // The operation may have evicted where the pool had less room than before and after it: before it grew, or while it
  // had only what it had, because the system refused memory for more.
  const PoolView pool = engine_.pool(0);
  const std::uint64_t limit = std::min({limit_, pool.limit(), no_memory ? offered_ : kUnlimited});
  const std::uint64_t page = engine_.page_size();
  limit_ = pool.limit(), offered_ = pool.offered();
  const bool whole = engine_.groups() == 1 && engine_.pool(0).needs().whole_path() && !engine_.pool(0).draining() &&
                     (limit == kUnlimited || floors <= limit * page);  // less room than that scales the floors
  for (std::size_t i = 0; whole && i < std::min(now.size(), before_.size()); ++i) {
    const TenantUse &was = before_[i], &is = now[i];
    const bool own = tenant && (is.name == *tenant || is.name == "*" || i == 0);
    const std::uint64_t floor = std::min(was.cached, is.share.floor), gave = is.below_floor - was.below_floor;
    // Its own operations, and a flush, may take it below its floor.
    if (!own && tenant && is.cached + gave + page <= floor)
      disagree("tenant '{}' has a floor of {} tokens, and went from {} to {} for another one", is.name, is.share.floor,
               was.cached, is.cached);
    if (gave == 0 || !reserved) continue;
    for (const TenantUse& other : now)
      if (other.cached > other.locked && other.cached >= other.share.floor + page)
        disagree("the floor of tenant '{}' gave way, and '{}' has {} tokens above its own", is.name, other.name,
                 other.cached - other.share.floor);
  }
  before_ = now;
}

}  // namespace canopy::check
