// A turn has one order: copies to the host tier, calls of the storage, fetches, early eviction. Each step finds in the
// host tier all that the steps before it have brought. The end of a copy or of a call becomes visible in no other
// place.

#include "tier_flow.h"

#include <xxhash.h>

#include <new>
#include <utility>

#include <cache/guard/index_port.h>
#include <cache/publish/publisher.h>
#include <cache/tenants/tenants.h>

namespace canopy {

void TierFlow::open(std::unique_ptr<HostTier> host, std::unique_ptr<StorageTier> storage,
                    const PrefetchConfig& prefetch) {
  host_ = std::move(host);
  storage_ = std::move(storage);
  pages_.attach_tier(*host_);
  fetches_ = std::make_unique<FetchFlow>(requests_, pages_, *host_, storage_.get(), prefetch, costs_);
}

bool TierFlow::agree_by(Agreement& agreement) {
  if (host_ && !host_->take_memory()) return false;
  board_ = std::make_unique<TurnBoard>(agreement);
  return true;
}

std::uint64_t TierFlow::turn(std::uint64_t now_us) {
  const TurnBoard* const agreed = board_ ? agree(now_us) : nullptr;
  if (!host_) return now_us;
  host_->turn(now_us);
  if (storage_) storage_->turn(now_us, agreed);
  fetches_->turn();
  if (storage_) storage_->evict_early();
  drainer_.go_on();
  if (Publisher* const publisher = pages_.publisher(); publisher && publisher->on()) {
    if (storage_) storage_->show();
    publisher->turn_below();
  }
  return host_->now_us();
}

/// Makes the one exchange of a turn. `now_us` becomes the time of all ranks. Returns null if they disagree; this rank
/// then continues without its tiers.
const TurnBoard* TierFlow::agree(std::uint64_t& now_us) {
  CacheState& device = state();
  const std::uint64_t words[] = {digest(), device.live.size(), device.tiers[Counter::breaks_storage],
                                 storage_ ? storage_->calls_made() : 0};
  board_->begin(now_us, XXH3_64bits(words, sizeof(words)));
  const bool agreed_before = !board_->stopped();
  if (agreed_before && storage_) storage_->offer(*board_, now_us);
  if (board_->exchange()) {
    now_us = board_->now_us();
    return board_.get();
  }
  if (agreed_before) {
    device.board.health.ranks = RanksState::stopped;
    device.ledger.violated(board_->why());
    if (host_) host_->stop();
    if (storage_) storage_->stop();
    if (fetches_) fetches_->stop();
  }
  return nullptr;
}

void TierFlow::begun(const RequestSpec& spec, const Fetch& fetch, Units matched) noexcept try {
  if (fetch.state_) fetches_->credit(*fetch.state_, matched, fetch.took_us());
  else if (fetches_ && !fetch.was_requested_) fetches_->touch(spec);
} catch (const std::bad_alloc&) {  // no memory for the key: the prefix is not recent below
  ++pages_.state().lacked;
}

void TierFlow::audit() {
  if (!host_) return;
  auto moving = host_->moving();
  if (storage_) storage_->add_moving(moving);
  canopy::audit(host_->state(), moving);
}

std::uint64_t TierFlow::digest() {
  const std::uint64_t above = pages_.total_digest();
  if (!host_) return above;
  const CounterValues& tiers = state().tiers;
  const Sizes below = host_->state().index->sizes(0);
  const std::uint64_t both[] = {above, host_->pages().digest().value(), tiers[Counter::hit_tokens_host],
                                below.evictable, below.protected_};
  const std::uint64_t two = XXH3_64bits(both, sizeof(both));
  if (!storage_) return two;
  const std::uint64_t all[] = {two, tiers[Counter::hit_tokens_storage], tiers[Counter::written_tokens_storage],
                               tiers[Counter::loaded_tokens_storage], tiers[Counter::damaged_records_storage]};
  return XXH3_64bits(all, sizeof(all));
}

}  // namespace canopy
