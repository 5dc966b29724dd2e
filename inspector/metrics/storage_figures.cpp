#include "storage_figures.h"

#include <vector>

namespace canopy::metrics {
namespace {

std::optional<std::uint64_t> known(std::uint64_t value) {
  return value == kUnlimited ? std::nullopt : std::optional(value);
}

/// Calls visit(figure) of each figure, in one order.
template <class Counts, class Visit>
void each(Counts& counts, Visit&& visit) {
  for (auto& lane : counts.lanes) {
    visit(lane.calls), visit(lane.bytes);
    for (auto& fate : lane.fates) visit(fate);
  }
  for (auto* figure : {&counts.hits, &counts.written, &counts.read, &counts.unkept, &counts.dropped, &counts.damaged,
                       &counts.breaks, &counts.outwaited})
    visit(*figure);
  for (auto& outcome : counts.brings) visit(outcome);
}

}  // namespace

StorageNow StorageNow::of(const inspector::MirrorStorage& storage) {
  StorageNow now;
  for (std::size_t i = 0; i < kStorageLanes; ++i) {
    const inspector::MirrorStorage::Lane& told = storage.lanes[i];
    Lane& lane = now.lanes[i];
    lane.calls = told.queue.on_way, lane.bytes = told.queue.on_way_bytes;
    if (told.queue.calls != 0) lane.call_seconds = static_cast<double>(told.speed.call_us) / 1e6;
    if (told.speed.bytes_per_second != 0) lane.bytes_per_second = told.speed.bytes_per_second;
  }
  now.state = storage.health.state;
  now.held_bytes = storage.health.held_bytes, now.lost_bytes = storage.health.lost_bytes;
  now.records = known(storage.room.records);
  now.used_bytes = known(storage.room.used);
  now.capacity_bytes = known(storage.room.capacity);
  return now;
}

StorageCounts StorageCounts::told(const inspector::MirrorStorage* storage) {
  StorageCounts counts;
  if (!storage) return counts;
  for (std::size_t i = 0; i < kStorageLanes; ++i) {
    counts.lanes[i].calls = storage->lanes[i].queue.calls;
    counts.lanes[i].bytes = storage->lanes[i].queue.bytes;
    for (std::size_t f = 0; f < counts.lanes[i].fates.size(); ++f)
      counts.lanes[i].fates[f] = storage->lanes[i].fates.by_fate[f];
  }
  counts.hits = storage->moved.hits, counts.written = storage->moved.written, counts.read = storage->moved.read;
  counts.unkept = storage->lost.unkept, counts.dropped = storage->lost.dropped;
  counts.damaged = storage->lost.damaged, counts.breaks = storage->health.breaks;
  counts.outwaited = storage->lost.outwaited;
  for (std::size_t i = 0; i < counts.brings.size(); ++i) counts.brings[i] = storage->brings[i];
  return counts;
}

void StorageCounts::add(const StorageCounts& before, const StorageCounts& now) {
  std::vector<std::uint64_t> begun;
  each(before, [&](std::uint64_t figure) { begun.push_back(figure); });
  std::vector<std::uint64_t> grown;
  each(now, [&](std::uint64_t figure) {
    const std::uint64_t then = begun[grown.size()];
    grown.push_back(figure > then ? figure - then : 0);  // another engine has counted anew
  });
  auto more = grown.begin();
  each(*this, [&](std::uint64_t& figure) { figure += *more++; });
}

}  // namespace canopy::metrics
