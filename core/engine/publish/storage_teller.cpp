#include "publish/storage_teller.h"

#include <cstring>

namespace canopy {
namespace {

std::uint32_t low(std::uint64_t count) { return static_cast<std::uint32_t>(count); }

}  // namespace

void StorageTeller::tell(const EngineState& state, FeedWriter& feed) {
  const StorageBoard& board = state.board;
  if (board.name.empty()) return;
  std::size_t place = 0;
  const auto tell = [&](const auto& event) {
    const Event now = event.encode();
    Event& told = told_[place++];
    if (std::memcmp(&told, &now, sizeof(now)) == 0) return;
    told = now;
    feed.push(event);
  };
  for (std::size_t i = 0; i < kStorageLanes; ++i) {
    const auto which = static_cast<StorageLane>(i);
    const StorageBoard::Lane& lane = board.lanes[i];
    tell(event::StorageQueue{which, lane.on_way, lane.on_way_bytes, lane.calls, lane.bytes});
    tell(event::StorageSpeed{which, lane.call_us(), lane.bytes_per_second()});
    event::StorageFates fates{which, {}};
    static_assert(std::tuple_size_v<decltype(fates.by_fate)> == StorageBoard::kFates);
    for (std::size_t f = 0; f < StorageBoard::kFates; ++f) fates.by_fate[f] = low(lane.fates[f]);
    tell(fates);
  }
  const StorageFigures& stored = state.stored;
  static_assert(event::StorageBrings::kOutcomes == kBringOutcomeCount);
  for (std::size_t first = 0; first < kBringOutcomeCount; first += event::StorageBrings::kEach) {
    event::StorageBrings brings{static_cast<std::uint32_t>(first), {}};
    for (std::size_t i = 0; i < event::StorageBrings::kEach && first + i < kBringOutcomeCount; ++i)
      brings.by_outcome[i] = low(stored.brings[first + i]);
    tell(brings);
  }
  tell(event::StorageMoved{stored.written_tokens, stored.read_tokens, state.counters.hit_tokens_storage});
  tell(event::StorageLost{stored.unkept_tokens, stored.dropped_tokens, stored.damaged_records, low(stored.outwaited)});
  tell(board.health);
  tell(board.room);
  if (board.ranks) tell(*board.ranks);
}

}  // namespace canopy
