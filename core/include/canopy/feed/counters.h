#pragma once
/// The only place that names the counters of the tiers. The engine counts by the enum; the feed, the inspector's
/// mirror, Prometheus, `canopy top`, the report of a replay and Python loop over the table. A new counter needs one
/// line here, and one where the engine counts.

#include <canopy/page_storage.h>
#include <canopy/types.h>
#include <canopy/words.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string_view>

namespace canopy {

/// Copies between the pools and the host tier, by direction.
enum class HostLane : std::uint8_t { store, load };
template <>
struct NamesOf<HostLane> {
  static constexpr const char* kAll[] = {"store", "load"};
};

/// Storage calls by kind. Each kind has its own lane.
enum class StorageLane : std::uint8_t { find, get, put };
template <>
struct NamesOf<StorageLane> {
  static constexpr const char* kAll[] = {"find", "get", "put"};
};

/// Outcome of starting a fetch from the host tier.
enum class FetchOutcome : std::uint8_t {
  whole,      ///< brings everything that the tier has of the prefix beyond the pools
  cut,        ///< brings only the first part of that: then the pools were full
  joined,     ///< another fetch already brings it
  nothing,    ///< the tier has no more than the pools
  too_short,  ///< the part beyond the pools is shorter than `least`
  no_room,    ///< the pools had no room, or a store could not copy
  not_worth,  ///< computing it is faster
};
template <>
struct NamesOf<FetchOutcome> {
  static constexpr const char* kAll[] = {"whole", "cut", "joined", "nothing", "too_short", "no_room", "not_worth"};
};

/// End of a fetch that brought something.
enum class FetchEnd : std::uint8_t {
  used,    ///< a request began when the fetch was complete
  late,    ///< a request began earlier, and computed what was missing
  unused,  ///< no request used it: the fetch was abandoned, and its pages may have been evicted since
};
template <>
struct NamesOf<FetchEnd> {
  static constexpr const char* kAll[] = {"used", "late", "unused"};
};

/// Outcome of bringing a prefix from the storage to the host tier.
enum class BringOutcome : std::uint8_t {
  whole,      ///< everything that was found arrived
  cut,        ///< only the first part of that arrived: then the host tier was full
  nothing,    ///< the storage has nothing that continues the prefix
  too_short,  ///< the part found is shorter than `least`
  no_room,    ///< the host tier had no room
  gone,       ///< a found record, or the prefix before it in the tiers above, had disappeared
  damaged,    ///< a record had wrong content
  late,       ///< an answer or a record exceeded its time limit
  failed,     ///< the storage failed
  refused,    ///< the storage was not called, because it had failed too often
  joined,     ///< it is already being brought
  not_worth,  ///< computing it is faster, by the measured time of the storage
};
template <>
struct NamesOf<BringOutcome> {
  static constexpr const char* kAll[] = {"whole",   "cut",  "nothing", "too_short", "no_room", "gone",
                                         "damaged", "late", "failed",  "refused",   "joined",  "not_worth"};
};

/// An axis of a counter's values.
struct CounterAxis {
  const char* label = nullptr;  ///< May be null (a single value).
  std::span<const char* const> names{};
  std::size_t size = names.empty() ? 1 : names.size();
};
namespace axis {

inline constexpr CounterAxis one, group{"group", {}, kMaxGroups};
template <class Enum>
constexpr CounterAxis by(const char* label) {
  return {label, all_names<Enum>()};
}
inline constexpr CounterAxis host_lane = by<HostLane>("lane"), storage_lane = by<StorageLane>("lane");
inline constexpr CounterAxis fetch = by<FetchOutcome>("outcome"), end = by<FetchEnd>("outcome");
inline constexpr CounterAxis bring = by<BringOutcome>("outcome"), fate = by<Fate>("outcome");

}  // namespace axis

enum class CounterKind : std::uint8_t {
  total,  ///< Grows only, from the engine's first operation on.
  rare,   ///< A total that is not shown while it is 0.
  gauge,  ///< Current value. kUnlimited: unknown, and not shown.
};
enum class CounterUnit : std::uint8_t { items, tokens, pages, bytes, bytes_per_s, us };

// X(name, tier, kind, unit, rows, columns, metric, help). The name, which ends with the unit and the tier, is the key
// in reports. Metrics in pages are shown in tokens, those in microseconds in seconds.
#define CANOPY_COUNTERS(X)                                                                                          \
  X(resident_pages_host, host, gauge, pages, group, one, "canopy_tier_tokens{state=resident}",                      \
    "Tokens in a tier below the pools, by state.")                                                                  \
  X(moving_pages_host, host, gauge, pages, group, one, "canopy_tier_tokens{state=moving}",                          \
    "Tokens in a tier below the pools, by state.")                                                                  \
  X(limit_pages_host, host, gauge, pages, group, one, "canopy_tier_limit_tokens",                                   \
    "Tokens that a tier below the pools may hold.")                                                                 \
  X(hit_tokens_host, host, total, tokens, one, one, "canopy_tier_hit_tokens_total",                                 \
    "Prompt tokens that were found because a fetch had brought them.")                                              \
  X(written_tokens_host, host, total, tokens, one, one, "canopy_tier_written_tokens_total",                         \
    "Tokens that were copied to a tier, or put into a storage and kept.")                                           \
  X(loaded_tokens_host, host, total, tokens, one, one, "canopy_tier_loaded_tokens_total",                           \
    "Tokens that were copied from a tier.")                                                                         \
  X(evicted_tokens_host, host, total, tokens, one, one, "canopy_tier_evicted_tokens_total",                         \
    "Tokens that a tier evicted to make room.")                                                                     \
  X(dropped_tokens_host, host, total, tokens, one, one, "canopy_tier_dropped_tokens_total",                         \
    "Tokens that left the tier above and were not copied.")                                                         \
  X(lost_tokens_host, host, total, tokens, one, one, "canopy_tier_lost_tokens_total",                               \
    "Tokens whose copy was in vain: the prefix before them had left, or a flush was not over.")                     \
  X(written_bytes_host, host, total, bytes, one, one, "canopy_lane_bytes_total{lane=store}",                        \
    "Bytes of the copies that have begun; for a storage, of the records that arrived.")                             \
  X(loaded_bytes_host, host, total, bytes, one, one, "canopy_lane_bytes_total{lane=load}",                          \
    "Bytes of the copies that have begun; for a storage, of the records that arrived.")                             \
  X(queued_copies_host, host, gauge, items, host_lane, one, "canopy_lane_copies",                                   \
    "Copies in progress; for a storage, calls in progress.")                                                        \
  X(queued_bytes_host, host, gauge, bytes, host_lane, one, "canopy_lane_queued_bytes",                              \
    "Bytes of the copies in progress.")                                                                             \
  X(bandwidth_bytes_host, host, gauge, bytes_per_s, host_lane, one, "canopy_lane_bytes_per_second",                 \
    "Bandwidth over the last seconds in which copies or calls were pending. Absent: not known.")                    \
  X(fetches, host, total, items, fetch, one, "canopy_fetches_total", "Fetches from a tier, by outcome.")            \
  X(fetch_ends, host, total, items, end, one, "canopy_fetch_ends_total",                                            \
    "Fetches that brought something: a request began when it was complete, began earlier, or never began.")         \
  X(fetch_took_us, host, total, us, one, one, "canopy_fetch_seconds_total",                                         \
    "Time from the call of a fetch to its end, or to the start of its request; only fetches whose request began.")  \
  X(fetch_saved_us, host, rare, us, one, one, "canopy_prefill_saved_seconds_total",                                 \
    "Time to compute the tokens that fetches brought. Absent: not known, or no fetch was used.")                    \
  X(turn_us, host, gauge, us, one, one, "canopy_turn_seconds",                                                      \
    "Time of the engine's last turn, on the clock of its turns.")                                                   \
  X(hit_tokens_storage, storage, total, tokens, one, one, "canopy_tier_hit_tokens_total",                           \
    "Prompt tokens that were found because a fetch had brought them.")                                              \
  X(written_tokens_storage, storage, total, tokens, one, one, "canopy_tier_written_tokens_total",                   \
    "Tokens that were copied to a tier, or put into a storage and kept.")                                           \
  X(loaded_tokens_storage, storage, total, tokens, one, one, "canopy_tier_loaded_tokens_total",                     \
    "Tokens that were copied from a tier.")                                                                         \
  X(dropped_tokens_storage, storage, total, tokens, one, one, "canopy_tier_dropped_tokens_total",                   \
    "Tokens that left the tier above and were not copied.")                                                         \
  X(unkept_tokens_storage, storage, total, tokens, one, one, "canopy_tier_unkept_tokens_total",                     \
    "Tokens that were put but that the storage did not keep.")                                                      \
  X(written_bytes_storage, storage, total, bytes, one, one, "canopy_tier_written_bytes_total",                      \
    "Bytes that were put into a storage and kept.")                                                                 \
  X(loaded_bytes_storage, storage, total, bytes, one, one, "canopy_tier_loaded_bytes_total",                        \
    "Bytes that arrived from a storage and were kept.")                                                             \
  X(damaged_records_storage, storage, total, items, one, one, "canopy_tier_damaged_records_total",                  \
    "Records of a storage with wrong content.")                                                                     \
  X(breaks_storage, storage, total, items, one, one, "canopy_tier_breaks_total",                                    \
    "Number of times that the engine stopped calling a storage.")                                                   \
  X(abandoned_fetches_storage, storage, total, items, one, one, "canopy_fetches_outwaited_total",                   \
    "Fetches that stopped waiting for a storage, because computing was faster.")                                    \
  X(fetches_storage, storage, total, items, bring, one, "canopy_fetches_total", "Fetches from a tier, by outcome.") \
  X(pending_calls_storage, storage, gauge, items, storage_lane, one, "canopy_lane_copies",                          \
    "Copies in progress; for a storage, calls in progress.")                                                        \
  X(pending_bytes_storage, storage, gauge, bytes, storage_lane, one, "canopy_lane_queued_bytes",                    \
    "Bytes of the copies in progress.")                                                                             \
  X(call_us_storage, storage, gauge, us, storage_lane, one, "canopy_lane_call_seconds",                             \
    "Duration of a call, as an exponential mean. Absent: no call has ended.")                                       \
  X(bandwidth_bytes_storage, storage, gauge, bytes_per_s, storage_lane, one, "canopy_lane_bytes_per_second",        \
    "Bandwidth over the last seconds in which copies or calls were pending. Absent: not known.")                    \
  X(calls_storage, storage, total, items, storage_lane, one, "canopy_lane_calls_total",                             \
    "Calls of a storage that have ended.")                                                                          \
  X(moved_bytes_storage, storage, total, bytes, storage_lane, one, "canopy_lane_bytes_total",                       \
    "Bytes of the copies that have begun; for a storage, of the records that arrived.")                             \
  X(records_storage, storage, total, items, storage_lane, fate, "canopy_lane_records_total",                        \
    "Records of calls that have ended, by result. A find counts as one; absent: it found nothing.")                 \
  X(held_bytes_storage, storage, gauge, bytes, one, one, "canopy_tier_held_bytes",                                  \
    "Bytes of the host tier in use by calls that were given up and have not ended.")                                \
  X(lost_bytes_storage, storage, gauge, bytes, one, one, "canopy_tier_lost_bytes",                                  \
    "Bytes of the host tier that a storage never released.")                                                        \
  X(kept_records_storage, storage, gauge, items, one, one, "canopy_tier_records",                                   \
    "Records in a storage. Absent: the storage does not report it.")                                                \
  X(used_bytes_storage, storage, gauge, bytes, one, one, "canopy_tier_used_bytes",                                  \
    "Bytes in a storage. Absent: the storage does not report it.")                                                  \
  X(capacity_bytes_storage, storage, gauge, bytes, one, one, "canopy_tier_capacity_bytes",                          \
    "Bytes that a storage may hold. Absent: the storage does not report it.")                                       \
  X(awaited_calls_storage, storage, gauge, items, one, one, "canopy_rank_awaited_calls",                            \
    "Calls that have ended on this rank but not on every other one. Absent: it is the only rank.")                  \
  X(worse_calls_storage, storage, rare, items, one, one, "canopy_rank_worse_calls_total",                           \
    "Calls with a worse result on another rank than on this one.")                                                  \
  X(refused_pages_host, host, rare, pages, group, one, "canopy_tier_refused_tokens_total",                          \
    "Tokens of pages of a tier for which the system refused memory.")

// clang-format off
enum class Counter : std::uint8_t {
#define CANOPY_NAME(name, ...) name,
  CANOPY_COUNTERS(CANOPY_NAME)
#undef CANOPY_NAME
};
// clang-format on

struct CounterInfo {
  std::string_view name, tier;
  CounterKind kind;
  CounterUnit unit;
  CounterAxis rows, columns;  ///< Rows: groups, lanes or outcomes; columns: outcomes.
  std::string_view metric;    ///< Name in Prometheus, with the fixed label in braces if it has one.
  const char* help;

  constexpr std::size_t size() const { return rows.size * columns.size; }
  /// Returns the name without the tier at its end.
  constexpr std::string_view name_in_tier() const {
    return name.ends_with(tier) ? name.substr(0, name.size() - tier.size() - 1) : name;
  }
};

inline constexpr CounterInfo kCounters[] = {
#define CANOPY_ROW(name, tier, kind, unit, rows, columns, metric, help) \
  {#name, #tier, CounterKind::kind, CounterUnit::unit, axis::rows, axis::columns, metric, help},
    CANOPY_COUNTERS(CANOPY_ROW)
#undef CANOPY_ROW
};
inline constexpr std::size_t kCounterCount = std::size(kCounters);

constexpr const CounterInfo& info_of(Counter counter) { return kCounters[static_cast<std::size_t>(counter)]; }

/// Values of all counters, by row and column.
class CounterValues {
 public:
  template <class Row = std::size_t, class Column = std::size_t>
  constexpr std::uint64_t& at(Counter counter, Row row = {}, Column column = {}) {
    return values_[place(counter, static_cast<std::size_t>(row), static_cast<std::size_t>(column))];
  }
  template <class Row = std::size_t, class Column = std::size_t>
  constexpr std::uint64_t at(Counter counter, Row row = {}, Column column = {}) const {
    return values_[place(counter, static_cast<std::size_t>(row), static_cast<std::size_t>(column))];
  }
  constexpr std::uint64_t& operator[](Counter counter) { return at(counter); }
  constexpr std::uint64_t operator[](Counter counter) const { return at(counter); }
  /// Returns all rows and columns of a counter.
  constexpr std::span<const std::uint64_t> all(Counter counter) const {
    return std::span(values_).subspan(place(counter, 0, 0), info_of(counter).size());
  }

 private:
  /// Offset of each counter's first value; the last entry is the total count.
  static constexpr auto kFirst = [] {
    std::array<std::size_t, kCounterCount + 1> first{};
    for (std::size_t i = 0; i < kCounterCount; ++i) first[i + 1] = first[i] + kCounters[i].size();
    return first;
  }();
  static constexpr std::size_t place(Counter counter, std::size_t row, std::size_t column) {
    return kFirst[static_cast<std::size_t>(counter)] + row * info_of(counter).columns.size + column;
  }

  std::array<std::uint64_t, kFirst.back()> values_{};
};

/// Returns true if an axis has this label.
constexpr bool is_by(const CounterAxis& axis, std::string_view label) { return axis.label && axis.label == label; }

/// Calls visit(counter, info) for each line of the table.
template <class Visit>
constexpr void for_each_counter(Visit&& visit) {
  for (std::size_t i = 0; i < kCounterCount; ++i) visit(static_cast<Counter>(i), kCounters[i]);
}
/// Calls visit(counter, info, row, column) for each value.
template <class Visit>
constexpr void for_each_value(Visit&& visit) {
  for_each_counter([&](Counter counter, const CounterInfo& info) {
    for (std::size_t row = 0; row < info.rows.size; ++row)
      for (std::size_t column = 0; column < info.columns.size; ++column) visit(counter, info, row, column);
  });
}
/// Returns true if a value is shown.
constexpr bool is_shown(const CounterInfo& info, std::uint64_t value) {
  return info.kind == CounterKind::gauge ? value != kUnlimited : info.kind != CounterKind::rare || value != 0;
}

}  // namespace canopy
