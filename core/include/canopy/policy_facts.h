#pragma once
/// Facts that a policy receives, besides those of a node.

#include <canopy/types.h>
#include <canopy/words.h>

namespace canopy {

/// Time and memory pressure for a policy, in units of its group. There is no wall clock, so that a recording replays to
/// the same decisions.
struct PolicyClock {
  std::uint64_t allocated = 0;          ///< units of new nodes since the index was created: time measured in work
  std::uint64_t used = 0;               ///< units resident now
  std::uint64_t capacity = kUnlimited;  ///< units that the pool may hold
  Tick now = 0;
};

/// Words between two prints of a prefix. prints[i] is a hash of the first (i + 1) * kPrintStride words of a key and of
/// its namespace: equal prints mean equal prefixes, of requests and of nodes alike (<canopy/helpers/prefix_print.h>).
inline constexpr std::size_t kPrintStride = 512;

/// The prints that a policy reads.
enum class Prints : std::uint32_t {
  none,
  requests,  ///< RequestFacts::prefix_prints: costs a pass over each prompt
  all,       ///< Eviction::prefix_prints as well: costs a pass over the path of each evicted node
};

/// The end of a request.
enum class Ending : std::uint32_t {
  none,       ///< it has not ended
  finished,   ///< normally
  aborted,    ///< by its client, or because it could not run
  retracted,  ///< preempted; if it is resumed, it arrives again under the same id
};
template <>
struct NamesOf<Ending> {
  static constexpr const char* kAll[] = {"none", "finished", "aborted", "retracted"};
};

/// Bits of RequestFacts::hints with a fixed meaning. The meaning of the other bits is up to the client. A policy may
/// learn the value of a hint, rely on it, or ignore it.
namespace hint {

inline constexpr std::uint64_t kSessionEnded = 1;     ///< no further request of this conversation is expected
inline constexpr std::uint64_t kToolCallPending = 2;  ///< the next request follows as soon as a tool has returned
inline constexpr std::uint32_t kMostClass = 7;
/// Returns the bits of a class of requests, such as chat or batch: a number of the client's choice up to kMostClass; 0:
/// no class.
constexpr std::uint64_t of_class(std::uint32_t number) { return std::uint64_t{number} << 8; }
constexpr std::uint32_t class_in(std::uint64_t hints) { return hints >> 8 & kMostClass; }

}  // namespace hint

/// The facts about a request that a policy receives.
struct RequestFacts {
  NamespaceId space{};
  std::int32_t priority = 0;
  std::uint32_t prompt = 0, matched = 0;  ///< tokens
  std::uint32_t output = 0;               ///< tokens generated so far
  std::uint64_t hints = 0;                ///< bits set by the client (canopy::hint)
  /// Prints of the whole strides of the prompt. Empty if all policies in use return Prints::none.
  std::span<const std::uint64_t> prefix_prints{};
  PolicyClock clock{};
  std::uint64_t id = 0;  ///< the same in `arrived` and `ended`; no other request has it
  Ending ending = Ending::none;
};

/// The reason for which a node's pages leave a group.
enum class Cause : std::uint32_t {
  room,         ///< this group needed pages
  other_group,  ///< the node left a group that needed pages, and took these along
  limit,        ///< the limit of this group's pool was lowered
  path_limit,   ///< its path has more of the group's pages than it may keep (Group::max_per_path)
  flush,        ///< the node's namespace was flushed
  dead_leaf,    ///< the pages of another group left, or never came, so that no match can end in the node
  ceiling,      ///< its tenant had more pages than its ceiling
};
template <>
struct NamesOf<Cause> {
  static constexpr const char* kAll[] = {"room", "other_group", "limit", "path_limit", "flush", "dead_leaf", "ceiling"};
};

/// Returns true if the pages left because others needed room; false if they were flushed, or no match could end there.
constexpr bool is_for_room(Cause cause) { return cause != Cause::flush && cause != Cause::dead_leaf; }

struct Eviction {
  Cause cause = Cause::room;
  /// Prints of the whole strides of the node's path, up to the node's end. Empty unless the policy wants Prints::all.
  std::span<const std::uint64_t> prefix_prints{};
};

}  // namespace canopy
