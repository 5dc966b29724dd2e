#pragma once

#include <canopy/types.h>

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace canopy::scheduling {

/// The orders in which a scheduler may start requests that wait, by the names and with the rules of SGLang's
/// SchedulePolicy (0.5.23, srt/managers/schedule_policy.py). All sorts are stable: what ties keeps the order given.
enum class Schedule : std::uint32_t {
  fcfs,                    ///< first come first served
  lpm,                     ///< longest match in the cache first
  dfs_weight,              ///< depth first through the cache's tree, where most requests wait first
  shortest_prefill_first,  ///< fewest tokens to compute first
  hrrn,                    ///< highest ratio of waiting to work first
  lof,                     ///< longest output first
};
inline constexpr std::array<const char*, 6> kScheduleNames = {"fcfs", "lpm", "dfs-weight", "shortest-prefill-first",
                                                              "hrrn", "lof"};

/// Whether fcfs and lof look at priorities before anything else.
enum class Priorities : std::uint32_t { ignored, high_first, low_first };

struct Rules {
  Schedule schedule = Schedule::fcfs;
  Priorities priorities = Priorities::ignored;
  /// lpm and hrrn keep the order given while more requests wait than this; 0: they never do.
  std::uint32_t most_matched = 128;
  /// In-batch prefix caching. Of several requests that the cache does not know and that begin with the same tokens, one
  /// starts in this pass, and the others come last: then its prefix is there for them. A request is looked at if at
  /// most `unknown` of its tokens are in the cache; -1 turns this off.
  std::int64_t unknown = 32;
  std::uint32_t shared = 32;  ///< first tokens that two requests have in common; at least 1
};

/// A request that waits, as its caller knows it. What the schedule in use does not read may be left out.
struct Waiter {
  std::uint64_t id = 0;       ///< hrrn: breaks ties, the lower first
  std::uint64_t arrival = 0;  ///< in any unit
  std::int32_t priority = 0;
  std::uint32_t output_limit = 0;
  std::uint64_t processed = 0;      ///< hrrn: prefill tokens that the server had computed when it arrived
  std::span<const Token> tokens{};  ///< its prompt, and its output so far if it was retracted
  std::uint32_t prompt = 0;         ///< tokens of its prompt
  std::uint32_t found = 0;          ///< tokens of it in the cache
  std::uint32_t usable = 0;         ///< of these, the ones it need not compute: the last token is computed in any case
  NamespaceId space{};
  NodeId node{};  ///< dfs-weight: in which `found` ends
};

/// Whether a pass over so many requests reads `found`, `usable` and `node`: if not, they need not be looked up.
bool reads_cache(const Rules& rules, std::size_t waiting);

/// IndexUpkeep::order_by_weight or Engine::order_by_weight.
using ByWeight = std::function<void(std::span<const NodeId> ends, std::span<std::uint32_t> order)>;

/// The order of requests that wait: a permutation of 0 .. waiting.size() - 1. The same input gives the same order.
/// `processed`: prefill tokens that the server has computed so far, for hrrn. `by_weight` is asked by dfs-weight alone.
/// Costs O(n log n), and `shared` tokens of each request. REQUIRES: the caller gives the requests in the order in which
/// fcfs without priorities starts them.
std::vector<std::uint32_t> waiting_order(std::span<const Waiter> waiting, const Rules& rules, std::uint64_t processed,
                                         const ByWeight& by_weight);

}  // namespace canopy::scheduling
