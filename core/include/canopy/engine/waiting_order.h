#pragma once

#include <canopy/types.h>
#include <canopy/words.h>

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace canopy::scheduling {

/// The orders in which a scheduler may start waiting requests, with the names and rules of SGLang's SchedulePolicy
/// (0.5.23, srt/managers/schedule_policy.py). All sorts are stable: ties keep the given order.
enum class Schedule : std::uint32_t {
  fcfs,                    ///< first come first served
  lpm,                     ///< longest match in the cache first
  dfs_weight,              ///< depth first through the cache's tree, the subtree with most waiting requests first
  shortest_prefill_first,  ///< fewest tokens to compute first
  hrrn,                    ///< highest ratio of waiting to work first, both in prefill tokens
  lof,                     ///< longest output first
};
/// Selects whether fcfs and lof sort by priority before anything else.
enum class Priorities : std::uint32_t { ignored, high_first, low_first };

struct Rules {
  Schedule schedule = Schedule::fcfs;
  Priorities priorities = Priorities::ignored;
  /// Most waiting requests that lpm and hrrn sort; if more wait, the given order is kept. 0: no limit.
  std::uint32_t most_matched = 128;
  /// In-batch prefix caching. Of several requests that begin with the same tokens and are not in the cache, one starts
  /// in this pass and the others come last, so that they find its prefix. Applies to requests with at most `unknown`
  /// tokens in the cache; -1: to none.
  std::int64_t unknown = 32;
  std::uint32_t shared = 32;  ///< first tokens that two such requests have in common; at least 1
};

/// A waiting request. Fields that the schedule in use does not read need not be set.
struct Waiter {
  std::uint64_t id = 0;       ///< for hrrn: breaks ties, the lower first
  std::uint64_t arrival = 0;  ///< time in any unit
  std::int32_t priority = 0;
  std::uint32_t output_limit = 0;
  std::uint64_t processed = 0;      ///< for hrrn: prefill tokens that the server had computed when it arrived
  std::span<const Token> tokens{};  ///< the prompt, and the output so far if it was retracted
  std::uint32_t prompt = 0;         ///< length of the prompt, in tokens
  std::uint32_t found = 0;          ///< tokens found in the cache
  std::uint32_t usable = 0;         ///< found tokens that need no computation: the last token is always computed
  NamespaceId space{};
  NodeId node{};  ///< for dfs-weight: the node in which `found` ends
};

/// Returns true if a pass over `waiting` requests reads Waiter::found, usable and node. Otherwise no lookup is needed.
bool reads_cache(const Rules& rules, std::size_t waiting);

/// A call of SchedulingIndex::order_by_weight or Engine::order_by_weight.
using ByWeight = std::function<void(std::span<const NodeId> ends, std::span<std::uint32_t> order)>;

/// Returns the order of waiting requests, a permutation of 0 .. waiting.size() - 1. The same input gives the same
/// order. `processed`: prefill tokens that the server has computed so far, for hrrn. Only dfs-weight calls `by_weight`.
/// Costs O(n log n), and reads `shared` tokens of each request. REQUIRES: the requests are given in the order in which
/// fcfs without priorities starts them.
std::vector<std::uint32_t> waiting_order(std::span<const Waiter> waiting, const Rules& rules, std::uint64_t processed,
                                         const ByWeight& by_weight);

}  // namespace canopy::scheduling

namespace canopy {

template <>
struct NamesOf<scheduling::Schedule> {
  static constexpr const char* kAll[] = {"fcfs", "lpm", "dfs-weight", "shortest-prefill-first", "hrrn", "lof"};
};

}  // namespace canopy
