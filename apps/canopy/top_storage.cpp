#include "top_storage.h"

#include <canopy/support/figures.h>
#include <canopy/support/printable.h>
#include <fmt/format.h>
#include <mirror/tier_words.h>

namespace canopy::app {
namespace {

using inspector::MirrorStorage;

std::string took(const event::StorageSpeed& speed) { return inspector::call_words(speed) + " a call"; }

std::string lane(const MirrorStorage::Lane& lane) {
  std::string words =
      fmt::format("calls on the way {}, {}", grouped(lane.queue.on_way), bytes(lane.queue.on_way_bytes));
  if (lane.queue.calls == 0) return words + "; none has ended";
  words += fmt::format("; {}", took(lane.speed));
  if (lane.speed.bytes_per_second != 0) words += fmt::format(", {}/s", bytes(lane.speed.bytes_per_second));
  return words + fmt::format("; {} in all, {}; records: {}", plural(lane.queue.calls, "call"), bytes(lane.queue.bytes),
                             inspector::counted_words(lane.fates.by_fate, inspector::kFateWords));
}

/// A find has no bytes, and its outcome is one for all that it asks.
std::string finds(const MirrorStorage::Lane& lane) {
  std::string words = fmt::format("calls on the way {}", grouped(lane.queue.on_way));
  if (lane.queue.calls == 0) return words + "; none has ended";
  const auto& fates = lane.fates.by_fate;
  words += fmt::format("; {}; {} in all: {} found something, {} nothing", took(lane.speed),
                       plural(lane.queue.calls, "call"), grouped(fates[0]), grouped(fates[1]));
  if (fates[3] != 0) words += fmt::format(", {} late", grouped(fates[3]));
  if (fates[4] != 0) words += fmt::format(", {} failed", grouped(fates[4]));
  return words;
}

}  // namespace

void add_storage(const inspector::Mirror& mirror, Table& table) {
  const MirrorStorage* const storage = mirror.storage();
  if (!storage) return;
  const event::StorageHealth& health = storage->health;
  table.row("storage", fmt::format("{}: {}; {}", printable(storage->name),
                                   inspector::breaker_words(health, mirror.tier().store.now.now_us),
                                   inspector::room_words(storage->room)));
  table.row("", fmt::format("{} hit, {} put, {} got, {} not kept, {} dropped; {} damaged",
                            plural(storage->moved.hits, "token"), grouped(storage->moved.written),
                            grouped(storage->moved.read), grouped(storage->lost.unkept), grouped(storage->lost.dropped),
                            plural(storage->lost.damaged, "record")));
  if (health.held_bytes + health.lost_bytes != 0)
    table.row("", fmt::format("{} of the host tier wait for calls that were given up, {} are lost",
                              bytes(health.held_bytes), bytes(health.lost_bytes)));
  if (storage->ranks) table.row("ranks", inspector::ranks_words(*storage->ranks));
  table.row("asked", finds(storage->lane(StorageLane::find)));
  table.row("from storage", lane(storage->lane(StorageLane::get)));
  table.row("to storage", lane(storage->lane(StorageLane::put)));
  table.row("brought", inspector::counted_words(storage->brings, inspector::kBringWords));
  if (storage->lost.outwaited != 0)
    table.row("", grouped(storage->lost.outwaited) + " fetches went on without it: computing is faster");
}

}  // namespace canopy::app
