#pragma once

#include <canopy/types.h>

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace canopy::lab {

/// Units [begin, end) of a request's prompt were asked for before, and last by request `by`.
struct Reuse {
  Units begin = 0, end = 0;
  std::uint32_t by = 0;
};

/// The prompts of a trace as a tree of units, where each unit knows the request that asked for it last. It has no limit
/// and evicts nothing: what any cache can do with a trace follows from it.
///
/// A unit is named by a print of the whole prefix up to its end, so equal prints mean equal prefixes. Prints have 64
/// bits: among n different units the odds of a mistake are n^2 / 2^65, one in a million for the 5.7 M pages of an hour
/// of production.
class History {
 public:
  /// `stride`: units in which prompts are equal or not, where a trace knows blocks only; it matters to turn() alone.
  explicit History(Units stride = 1) : stride_(stride) {}

  /// Adds a request and returns its number, from 0. Costs O(reuses), whatever the length: prints name prefixes, so a
  /// binary search finds the end of what two prompts share. REQUIRES: less than 2^32 requests.
  std::uint32_t add(std::span<const std::uint64_t> prints);

  std::uint32_t requests() const { return static_cast<std::uint32_t>(visits_.size()); }
  Units units(std::uint32_t request) const { return visits_[request].units; }
  /// What earlier requests had asked for: from depth 0 on without a gap, the deeper the longer ago.
  std::span<const Reuse> reuses(std::uint32_t request) const;
  /// How many of its units an infinite cache has.
  Units seen(std::uint32_t request) const;
  /// 1, or one more than the turn of the longest earlier request of which all whole strides begin this one. A request
  /// that brought no new stride is not continued: many begin with the same instructions and no more.
  std::uint32_t turn(std::uint32_t request) const { return visits_[request].turn; }
  std::uint64_t distinct_units() const { return prints_.size(); }
  /// A number for each unit of the request that was added last: equal numbers mean equal prefixes. Dense from 0.
  void numbers_of_last(std::vector<std::uint32_t>& numbers) const;

 private:
  struct Visit {
    Units units = 0;
    std::uint32_t turn = 1;
    std::size_t reuses_end = 0;  ///< one past its last in reuses_
  };
  /// A run of units that were last asked for by one request.
  struct Node {
    std::size_t at = 0;  ///< of its first print in prints_
    Units length = 0;
    std::uint32_t by = 0;
  };
  /// Prints are hashes already.
  struct Itself {
    std::size_t operator()(std::uint64_t print) const { return print; }
  };
  template <class Value>
  using ByPrint = std::unordered_map<std::uint64_t, Value, Itself>;

  void split(Node& node, Units length);
  std::uint32_t turn_of(std::span<const std::uint64_t> prints, Units seen);

  Units stride_;
  std::vector<Visit> visits_;
  std::vector<Reuse> reuses_;
  std::vector<std::uint64_t> prints_;  ///< of all units that are different
  ByPrint<std::uint32_t> first_;       ///< print of a node's first unit to the node
  ByPrint<std::uint32_t> turns_;       ///< print of a request's whole strides to its turn
  std::vector<Node> nodes_;
  std::vector<Node> path_;  ///< of the request that was added last: pieces of nodes
};

}  // namespace canopy::lab
