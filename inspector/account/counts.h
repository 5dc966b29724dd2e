#pragma once

#include <canopy/feed/event.h>
#include <mirror/mirror_past.h>
#include <mirror/mirror_request.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>

namespace canopy::inspector {

/// The rules of what the inspector counts, in one place. History applies them, once for each effect that the mirror
/// reports, to the past over time and to the sums of `canopy export` and `canopy top`.
///
/// - A request counts when it is admitted (event::RequestAdmitted): not a fetch, and not one that was admitted before
///   this reader came. `hit` is the match with which it was admitted, at most its prompt; a later match does not count.
/// - A request that ends before it is admitted counts as a try when it ends, and nowhere else.
/// - Missed tokens are those that the match could have had (MirrorRequest::missed) and, under `rounding`, the last
///   page. They count where the request was admitted, and move to their reasons when these are found, however late:
///   pages that had been evicted to `evicted` (or to the flush), the rest to a reason of its own. In any range, prompt
///   tokens are hits plus all missed ones. An exporter's counters must not fall, so there a request's missed tokens are
///   left out until its reasons are final: its whole prompt is in the tree, or it has ended. A flush is a reason of its
///   own here, and `evicted` there.
/// - Pages are compared by their digests (event::NodeDigests) or tokens. Where a feed has neither, a longer node that
///   comes back is known by its first page only, and not at all after a split: figures are then *about* (Bound).
/// - `inserted`: not nodes that were there when this reader came (MirrorNode::reported_late). Pages of the first group
///   that fill a gap count as well.
/// - `wasted`: what a fetch finds in a tier below is no waste, and is taken back when it is fetched. `regretted`: what
///   is computed again, never what is fetched.
/// - Tokens that leave have a cause (EvictionCause). `evicted` is any cause, in the first group; an exporter has each
///   group, and flushed tokens apart. An exporter's counters by cause leave out what left in the last operation until
///   the next one: a resize then makes it `limit`. Ages are those that are known: by token here, also at a flush; by
///   page in an exporter, and not at a flush.
/// - *Locked* is the time for which requests ran and so had locks, summed over requests: from a request's beginning to
///   its end, also before it is admitted, without the time for which it was retracted. It counts as it passes, where
///   it passes. Requests that were there when this reader came count from then on. Time over a loss does not count.
/// - Hits by tier: the engine reports only with its totals, every few operations, what fetches had brought to requests
///   that were admitted before. Until then, an exporter counts their hits for no tier.
/// - Prompt lengths: of requests that were admitted here; of those that finished in an exporter.
/// - Counters of tiers are the engine's own, without what they had at the keyframe with which this reader came.
/// - Figures of tenants with shares are the engine's, since it began (MirrorTenant).

/// The only place that names the counts of a range of time. Tables, charts and files loop over it.
#define CANOPY_RANGE_COUNTS(X)                                                                           \
  X(requests, "requests", "Requests that were admitted.")                                                \
  X(prompt, "prompt tokens", "Tokens of the prompts of those requests.")                                 \
  X(hit, "hit tokens", "Prompt tokens that were found in the cache.")                                    \
  X(inserted, "inserted tokens", "Tokens of nodes that were added to the tree.")                         \
  X(evicted, "evicted tokens", "Tokens that left the pool of the first group, for any cause.")           \
  X(wasted, "wasted tokens", "Evicted tokens of nodes that no request had found since they were added.") \
  X(regretted, "regretted tokens", "Tokens that were computed again after they had been evicted.")       \
  X(tries, "tries", "Requests that ended before they were admitted, such as those that found no room.")

// clang-format off
enum class Count : std::uint8_t {
#define CANOPY_NAME(name, ...) name,
  CANOPY_RANGE_COUNTS(CANOPY_NAME)
#undef CANOPY_NAME
};
// clang-format on

struct CountInfo {
  const char *name, *words, *help;
};
/// Returns true if a count is not known where a feed reports no requests, as one that is made of KV events.
constexpr bool needs_requests(Count count) {
  return count != Count::inserted && count != Count::evicted && count != Count::regretted;
}
inline constexpr CountInfo kCounts[] = {
#define CANOPY_ROW(name, words, help) {#name, words, help},
    CANOPY_RANGE_COUNTS(CANOPY_ROW)
#undef CANOPY_ROW
};

/// Values of all counts.
class Counts {
 public:
  constexpr std::uint64_t& operator[](Count count) { return values_[static_cast<std::size_t>(count)]; }
  constexpr std::uint64_t operator[](Count count) const { return values_[static_cast<std::size_t>(count)]; }
  constexpr Counts& operator+=(const Counts& other) {
    for (std::size_t i = 0; i < values_.size(); ++i) values_[i] += other.values_[i];
    return *this;
  }
  friend bool operator==(const Counts&, const Counts&) = default;

 private:
  std::array<std::uint64_t, std::size(kCounts)> values_{};
};

/// Reasons of missed tokens: those of Miss, and last the flush that removed them.
inline constexpr std::size_t kReasons = static_cast<std::size_t>(Miss::no_nodes) + 2, kFlushedReason = kReasons - 1;
/// Returns a reason in a few words.
const char* reason_name(std::size_t reason);

/// Cause of an eviction.
enum class EvictionCause : std::uint8_t {
  room,   ///< a request or a caller needed pages
  limit,  ///< the pool's limit was lowered
  flush,
  other,  ///< with another operation: a window moved on, or another server removed it
};
inline constexpr std::array<const char*, 4> kEvictionCauseNames = {"for room", "lower limit", "flush", "other"};
/// Values of the label `cause` in metrics.
inline constexpr std::array<const char*, 4> kEvictionCauseLabels = {"room", "lower_limit", "flush", "other"};
inline constexpr std::size_t kEvictionCauses = kEvictionCauseNames.size();
EvictionCause cause_of(Operation operation);

/// The kind of a figure, by whether the feed has all that it needs.
enum class Bound : std::uint8_t {
  none,      ///< exact
  at_most,   ///< the last page of a prompt may not have been found
  at_least,  ///< earlier evictions are not known: the reader came late, or lost events
  about,     ///< pages could not be compared one by one, or both of the above
};
inline constexpr std::array<const char*, 4> kBoundWords = {"", "at most ", "at least ", "about "};
inline constexpr std::array<const char*, 4> kBoundSigns = {"", "< ", "> ", "~ "};  ///< for narrow places

/// Pools of which it is estimated what they would have kept, in percent of the pool at that time; the last: no limit.
inline constexpr std::array<std::uint64_t, 6> kLargerPools = {110, 125, 150, 200, 400, kUnlimited};
/// By kLargerPools: regretted tokens that such a pool would have kept.
using KeptCounts = std::array<std::uint64_t, kLargerPools.size()>;

/// Traffic between the pools and the tiers below.
enum class Traffic : std::uint8_t {
  fetches,         ///< fetches that were started
  loaded_host,     ///< tokens from the host to the pools
  stored_host,     ///< tokens from the pools to the host
  loaded_storage,  ///< tokens from the storage to the host
  stored_storage,  ///< tokens from the host to the storage
};
inline constexpr std::array<const char*, 5> kTrafficNames = {"fetches", "from the host", "to the host",
                                                             "from the storage", "to the storage"};
using TrafficCounts = std::array<std::uint64_t, kTrafficNames.size()>;

}  // namespace canopy::inspector
