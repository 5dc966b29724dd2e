#include <cache/cache_state.h>
#include <cache/guard/index_port.h>

namespace canopy {

CounterValues tier_counters(const CacheState& state) {
  CounterValues all = state.tiers;
  if (!state.below) return all;
  const CacheState& tier = *state.below;
  for (std::size_t g = 0; g < tier.pools.size(); ++g) {
    const Sizes sizes = tier.index->sizes(g);
    all.at(Counter::resident_pages_host, g) = (sizes.evictable + sizes.protected_) / tier.page_size;
    all.at(Counter::moving_pages_host, g) = tier.moving[g];
    all.at(Counter::limit_pages_host, g) = tier.pools[g].limit();
  }
  all[Counter::evicted_tokens_host] = tier.counters.evicted_tokens;
  const TierBoard& board = state.board;
  for (std::size_t lane = 0; lane < board.host_speeds.size(); ++lane)
    all.at(Counter::bandwidth_bytes_host, lane) = board.host_speeds[lane].bandwidth();
  if (board.storage.empty()) return all;
  for (std::size_t lane = 0; lane < board.storage_speeds.size(); ++lane) {
    all.at(Counter::call_us_storage, lane) = board.storage_speeds[lane].call_us();
    all.at(Counter::bandwidth_bytes_storage, lane) = board.storage_speeds[lane].bandwidth();
  }
  if (board.health.ranks == RanksState::alone) all[Counter::awaited_calls_storage] = kUnlimited;
  return all;
}

}  // namespace canopy
