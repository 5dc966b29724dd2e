#include <canopy/engine/tiers.h>

#include <algorithm>

#include <cache/pages/call_guard.h>
#include "tier_flow.h"

namespace canopy {

bool Tiers::has_host() const { return flow_->host() != nullptr; }
bool Tiers::has_storage() const { return flow_->storage() != nullptr; }
IndexView Tiers::host_index() const { return IndexView(flow_->host()->state()); }
PoolView Tiers::host_pool(std::size_t group) const { return flow_->host()->state().pools[group].view(); }

Fetch Tiers::fetch(const RequestSpec& spec) {
  Fetch fetch;
  const CallGuard entered(flow_->state(), "Tiers::fetch");
  if (!entered || !has_host()) return fetch;
  const std::size_t least = std::min<std::size_t>(spec.min_uncached, spec.prompt.size());
  fetch.hold(flow_->fetch(spec), flow_->state().whole_pages(spec.prompt.size() - least));
  return fetch;
}

std::uint64_t Tiers::recompute_us(std::uint32_t tokens, std::uint32_t depth) const {
  return flow_->costs().recompute_us(depth, tokens);
}

std::uint64_t Tiers::next_end_us() const {
  if (!has_host()) return kUnlimited;
  return std::min({flow_->host()->next_us(), flow_->fetches()->next_us(),
                   has_storage() ? flow_->storage()->next_us() : kUnlimited});
}

bool Tiers::in_real_time() const { return has_storage() && flow_->storage()->in_real_time(); }

CounterValues Tiers::counters() const {
  if (has_storage()) flow_->storage()->show();
  return tier_counters(flow_->state());
}

}  // namespace canopy
