#pragma once

#include <canopy/types.h>
#include <canopy/words.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace canopy {

/// An event in memory and in files: 32 bytes, which hold one of the structs of <canopy/feed/events.h>. Each of those
/// begins with these two fields, and std::bit_cast converts between them and this struct.
struct Event {
  std::uint8_t kind = 0;   ///< kKind of the event's struct. A reader skips and counts unknown kinds.
  std::uint8_t group = 0;  ///< KV cache group, if the kind has one.
  std::array<std::uint8_t, 30> fields{};
};
/// Bit in Event::group: the event belongs to the tier below the pools, which has its own index, pools and groups.
inline constexpr std::uint8_t kOfTierBelow = 0x80;
static_assert(sizeof(Event) == 32 && std::is_trivially_copyable_v<Event>);

/// Unused bytes of an event's struct. They are 0, so that equal events have equal bytes.
template <std::size_t bytes>
using Unused = std::array<std::uint8_t, bytes>;

/// A boolean in an event. Every byte but 1 is false, since another process may have written it.
class Flag {
 public:
  constexpr Flag(bool value = false) : value_(value) {}
  constexpr operator bool() const { return value_ == 1; }

 private:
  std::uint8_t value_;
};

/// Returns true if an event is of kind T.
template <class T>
constexpr bool is(const Event& event) {
  return event.kind == T::kKind;
}

/// The operation that an engine had completed when it published a commit.
enum class Operation : std::uint32_t {
  none,
  begin,
  reserve,
  advance,
  evict,
  insert,
  release,
  flush,
  policy,
  retract,
  resize,
  control,  ///< an inspector's pause, resume, pin or unpin
};
template <>
struct NamesOf<Operation> {
  static constexpr const char* kAll[] = {"none",    "match", "reserve", "advance", "evict",  "insert",
                                         "release", "flush", "policy",  "retract", "resize", "control"};
};

enum class RequestPhase : std::uint16_t { running, committed, finished, aborted, retracted, resumed };
template <>
struct NamesOf<RequestPhase> {
  static constexpr const char* kAll[] = {"running", "committed", "finished", "aborted", "retracted", "resumed"};
};

/// State of a pool's segment.
enum class SegmentState : std::uint16_t {
  absent,    ///< no memory; only its page numbers are reserved
  offered,   ///< its first pages may be handed out
  draining,  ///< with memory, and with pages in use that will not be handed out again
  idle,      ///< with memory, but no page in use or offered: to offer it again costs nothing
};
template <>
struct NamesOf<SegmentState> {
  static constexpr const char* kAll[] = {"no memory", "offered", "draining", "idle"};
};

/// State of the storage's circuit breaker (core/tiers/storage_calls.h).
enum class StorageState : std::uint8_t { closed, half_open, open };
template <>
struct NamesOf<StorageState> {
  static constexpr const char* kAll[] = {"closed", "half_open", "open"};
};
/// State of the agreement between ranks (Agreement).
enum class RanksState : std::uint8_t {
  alone,
  together,
  stopped,  ///< The ranks disagreed: nothing moves between the tiers any longer.
};

/// Subject of a text. The number of a text is that of the namespace or group, or the line of a list.
enum class TextKind : std::uint8_t {
  space,        ///< name of a namespace
  group,        ///< name of a group
  policy,       ///< name of a group's policy
  policy_rule,  ///< PolicyText::rule of a group's policy
  policy_rank,  ///< PolicyText::rank of a group's policy
  config,       ///< the engine's configuration as YAML
  plugin,       ///< an available component; fields separated by tabs
  refusal,      ///< a refused plugin file; fields separated by tabs
  paused,       ///< reason for the pause; empty while the engine runs
  /// Origin of a feed that is made from the KV events of other servers; empty for an engine's own feed. Such a feed
  /// contains only nodes and groups. Locks, ranks, requests, page numbers and free pages are unknown.
  origin,
  worker,    ///< a server whose events are in the feed; fields separated by tabs (WorkerField)
  no_nodes,  ///< reason why the index sends no nodes; empty: it sends all. If set, Totals follow each operation
  storage,   ///< name of the storage below the host tier; sent only if there is one
  tenant,    ///< name of a tenant with a share; "*": all others together; empty: requests without a tenant
};

/// Fields of a TextKind::worker, in this order. Figures are in tokens. `lost`: the reason why its events have stopped;
/// empty while they arrive.
enum class WorkerField : std::uint8_t { name, tokens, shared, state, lost };
inline constexpr std::size_t kWorkerFields = 5;

}  // namespace canopy

namespace canopy::event {

/// Two consecutive runs of page numbers; a run of 0 pages is absent. REQUIRES: the first run is not empty.
using TwoRuns = std::array<Segment, 2>;

}  // namespace canopy::event
