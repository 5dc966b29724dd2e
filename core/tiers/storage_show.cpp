/// Figures of the storage for a feed.
#include <algorithm>

#include "storage_tier.h"

namespace canopy {
namespace {

StorageState shown(Breaker::State state) {
  switch (state) {
    case Breaker::State::closed:
      return StorageState::closed;
    case Breaker::State::half_open:
      return StorageState::half_open;
    case Breaker::State::open:
      break;
  }
  return StorageState::open;
}

/// Adds to a sum. An unknown summand makes the sum unknown.
void add(std::uint64_t& sum, std::uint64_t more) {
  sum = more == kUnlimited || sum > kUnlimited - more ? kUnlimited : sum + more;
}

}  // namespace

void StorageTier::show_breaker() {
  event::StorageHealth& health = device_.board.health;
  health.state = shown(breaker_.state(now_us_));
  health.until_us = breaker_.until();
}

void StorageTier::show() {
  std::uint64_t& held = device_.tiers[Counter::held_bytes_storage] = 0;
  std::uint64_t& lost = device_.tiers[Counter::lost_bytes_storage] = 0;
  const auto count = [&](const auto& job, bool given_up) {
    if (!job.lost && (!given_up || job.open == 0)) return;
    for (std::size_t g = 0; g < calls_.groups(); ++g)
      (job.lost ? lost : held) += job.pages[g].size() * host_.images(g).record_bytes();
  };
  for (const auto& bring : brings_) count(*bring, bring->over);
  for (const auto& put : puts_) count(*put, put->late);
  std::uint64_t& capacity = device_.tiers[Counter::capacity_bytes_storage] = 0;
  std::uint64_t& used = device_.tiers[Counter::used_bytes_storage] = 0;
  std::uint64_t& records = device_.tiers[Counter::kept_records_storage] = 0;
  for (std::size_t g = 0; g < calls_.groups(); ++g) {
    const StorageUse use = calls_.storage(g).read("use", &PageStorage::use);
    add(capacity, use.capacity);
    add(used, use.used);
    add(records, use.records);
  }
}

void StorageTier::show_brought(const Bring& bring, NodeId end) {
  if (feed_ && feed_->on() && bring.until > bring.from)
    feed_->push(event::NodeBrought{.from = bring.from, .node = end, .until = bring.until});
}

}  // namespace canopy
