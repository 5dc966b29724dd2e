/// What a feed shows of the storage.
#include <algorithm>

#include "tiers/storage_tier.h"

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

/// One that does not know leaves the sum not known.
void add(std::uint64_t& sum, std::uint64_t more) {
  sum = more == kUnlimited || sum > kUnlimited - more ? kUnlimited : sum + more;
}

}  // namespace

void StorageTier::show_breaker() {
  event::StorageHealth& health = device_.board.health;
  health.state = shown(breaker_.state(now_us_));
  health.breaks = static_cast<std::uint32_t>(breaker_.opened());
  health.until_us = breaker_.until();
}

void StorageTier::show() {
  event::StorageHealth& health = device_.board.health;
  health.held_bytes = health.lost_bytes = 0;
  const auto count = [&](const auto& job, bool given_up) {
    if (!job.lost && (!given_up || job.open == 0)) return;
    for (std::size_t g = 0; g < calls_.groups(); ++g)
      (job.lost ? health.lost_bytes : health.held_bytes) += job.pages[g].size() * host_.images(g).record_bytes();
  };
  for (const auto& bring : brings_) count(*bring, bring->over);
  for (const auto& put : puts_) count(*put, put->late);
  event::StorageRoom& room = device_.board.room;
  room = {0, 0, 0};
  for (std::size_t g = 0; g < calls_.groups(); ++g) {
    const StorageUse use = calls_.storage(g).use();
    add(room.capacity, use.capacity);
    add(room.used, use.used);
    add(room.records, use.records);
  }
}

void StorageTier::show_brought(const Bring& bring, NodeId end) {
  if (feed_ && feed_->on() && bring.until > bring.from) feed_->push(event::NodeBrought{end, bring.from, bring.until});
}

}  // namespace canopy
