/// Canopy's own names of the storage below the tier below.

#include "families.h"

namespace canopy::metrics {
namespace {

constexpr const char* kLanes[] = {"find", "get", "put"};
constexpr const char* kStates[] = {"closed", "half_open", "open"};
// Labels, which stay what they are when the words for people change.
constexpr const char* kBrings[] = {"whole",   "cut",  "nothing", "too_short", "no_room", "gone",
                                   "damaged", "late", "failed",  "refused",   "joined",  "not_worth"};
constexpr const char* kFates[] = {"done", "absent", "full", "late", "failed"};
static_assert(std::size(kBrings) == event::StorageBrings::kOutcomes);

const Labels kStorage = {{"tier", "storage"}};

Labels of_storage(const char* name, const char* value) { return {{"tier", "storage"}, {name, value}}; }

}  // namespace

void add_storage(const StorageNow& now, Families& to) {
  for (std::size_t i = 0; i < kStorageLanes; ++i) {
    const StorageNow::Lane& lane = now.lanes[i];
    const Labels labels = of_storage("lane", kLanes[i]);
    to.gauge("canopy_lane_copies", "Copies that have begun and not ended; calls of a storage.", lane.calls, labels);
    to.gauge("canopy_lane_queued_bytes", "Bytes of the copies that have begun and not ended.", lane.bytes, labels);
    to.gauge("canopy_lane_call_seconds", "What a call takes: an exponential mean. Absent: none has ended.",
             lane.call_seconds, labels);
    to.gauge("canopy_lane_bytes_per_second",
             "Over the last seconds in which calls were on their way. Absent: not known.", lane.bytes_per_second,
             labels);
  }
  for (std::size_t i = 0; i < std::size(kStates); ++i)
    to.gauge("canopy_tier_breaker", "1 for the state of the breaker in front of a storage: open, it is not called.",
             std::uint64_t{static_cast<std::size_t>(now.state) == i}, of_storage("state", kStates[i]));
  to.gauge("canopy_tier_held_bytes", "Bytes of the host tier that wait for calls which were given up.", now.held_bytes,
           kStorage);
  to.gauge("canopy_tier_lost_bytes", "Bytes of the host tier that a storage has never given back.", now.lost_bytes,
           kStorage);
  to.gauge("canopy_tier_records", "Records that a storage has. Absent: it does not tell.", now.records, kStorage);
  to.gauge("canopy_tier_used_bytes", "Bytes that a storage has. Absent: it does not tell.", now.used_bytes, kStorage);
  to.gauge("canopy_tier_capacity_bytes", "Bytes that a storage may have. Absent: it does not tell.", now.capacity_bytes,
           kStorage);
}

void add_storage_counts(const StorageCounts& storage, Families& to) {
  to.counter("canopy_tier_hit_tokens_total", "", storage.hits, kStorage);
  to.counter("canopy_tier_written_tokens_total", "", storage.written, kStorage);
  to.counter("canopy_tier_loaded_tokens_total", "", storage.read, kStorage);
  to.counter("canopy_tier_dropped_tokens_total", "", storage.dropped, kStorage);
  to.counter("canopy_tier_unkept_tokens_total", "Tokens that were put and that the storage did not keep.",
             storage.unkept, kStorage);
  to.counter("canopy_tier_damaged_records_total", "Records of a storage that were not what they should be.",
             storage.damaged, kStorage);
  to.counter("canopy_tier_breaks_total", "Times that the engine stopped calling a storage.", storage.breaks, kStorage);
  to.counter("canopy_fetches_outwaited_total",
             "Fetches that went on without a storage, which took longer than computing.", storage.outwaited, kStorage);
  for (std::size_t i = 0; i < kStorageLanes; ++i) {
    const StorageCounts::Lane& lane = storage.lanes[i];
    to.counter("canopy_lane_bytes_total", "", lane.bytes, of_storage("lane", kLanes[i]));
    to.counter("canopy_lane_calls_total", "Calls of a storage that have ended.", lane.calls,
               of_storage("lane", kLanes[i]));
    for (std::size_t f = 0; f < std::size(kFates); ++f) {
      Labels labels = of_storage("lane", kLanes[i]);
      labels.emplace_back("outcome", kFates[f]);
      to.counter("canopy_lane_records_total",
                 "Records of calls that have ended, by how; of finds, calls: absent are those that found nothing.",
                 lane.fates[f], std::move(labels));
    }
  }
  for (std::size_t i = 0; i < storage.brings.size(); ++i)
    to.counter("canopy_fetches_total", "", storage.brings[i], of_storage("outcome", kBrings[i]));
}

}  // namespace canopy::metrics
