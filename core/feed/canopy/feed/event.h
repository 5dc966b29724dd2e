#pragma once

#include <canopy/types.h>

#include <bit>
#include <cstdint>
#include <type_traits>

namespace canopy {

/// One event as it stands in memory and in files: 32 bytes. Only the structs of <canopy/feed/events.h> give the fields
/// a meaning; they encode and decode them. No other code reads a field beside `kind` and `group`.
struct Event {
  std::uint8_t kind = 0;   ///< the kKind of one of those structs; a reader skips and counts a kind it does not know
  std::uint8_t group = 0;  ///< the KV cache group, where the kind has one
  std::uint16_t flags = 0;
  std::uint32_t extra = 0;
  std::uint64_t id = 0, a = 0, b = 0;
};
/// In Event::group: the event is of the tier below the pools, which has an index, pools and groups of its own.
inline constexpr std::uint8_t kOfTierBelow = 0x80;
static_assert(sizeof(Event) == 32 && std::is_trivially_copyable_v<Event>);

/// Whether an event is one of kind T.
template <class T>
constexpr bool is(const Event& event) {
  return event.kind == T::kKind;
}

/// What an engine had done when it published a commit.
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
  control,  ///< a person paused, resumed, pinned or unpinned
};

enum class RequestPhase : std::uint16_t { running, committed, finished, aborted, retracted, resumed };

/// How a segment of a pool stands with its pages.
enum class SegmentState : std::uint16_t {
  absent,    ///< no memory; its page numbers are reserved
  offered,   ///< its first pages may be handed out
  draining,  ///< it has memory, and some of its pages are out that will not be handed out again
  idle,      ///< it has memory, and no page of it is out or offered: offering it again costs nothing
};

/// What a text is about. Its number is that of the namespace or group, or the line of a list.
enum class TextKind : std::uint8_t {
  space,        ///< name of a namespace
  group,        ///< name of a group
  policy,       ///< name of a group's policy
  policy_rule,  ///< PolicyText::rule of a group's policy
  policy_rank,  ///< PolicyText::rank of a group's policy
  config,       ///< the engine's configuration as YAML
  plugin,       ///< a component that is offered; fields apart by tabs
  refusal,      ///< a plugin file that was refused; fields apart by tabs
  paused,       ///< why the engine is paused; empty while it runs
  /// Which KV events of other servers the feed is made from; empty: it is an engine's own. Such events tell of nodes
  /// and groups alone. Locks, ranks, requests, page numbers, and pages that are free are not known.
  origin,
  worker,    ///< a server whose events are in the feed; fields apart by tabs (WorkerField)
  no_nodes,  ///< why the index tells of no node; empty: it tells of all. Then Totals come with each operation
  storage,   ///< name of the storage below the tier below; it is told if there is one
};

/// The fields of a TextKind::worker, in this order. Figures are of tokens.
enum class WorkerField : std::uint8_t { name, tokens, shared, state };
inline constexpr std::size_t kWorkerFields = 4;

}  // namespace canopy
