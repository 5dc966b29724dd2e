#pragma once

#include <canopy/types.h>

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace canopy::lab {

/// Units [begin, end) of a request's prompt that were requested before, the last time by request `by`.
struct Reuse {
  Units begin = 0, end = 0;
  std::uint32_t by = 0;
};

/// The prompts of a trace as a tree of units; each unit has the last request for it. It has no limit and evicts
/// nothing: the possible reuse of any cache follows from it.
///
/// A unit is identified by a print of the whole prefix up to its end, so equal prints mean equal prefixes. Prints have
/// 64 bits: for n distinct units the probability of an error is n^2 / 2^65, one in a million for the 5.7 M pages of an
/// hour of production.
class History {
 public:
  /// `stride`: units per block, for a trace that knows only blocks; used only by turn().
  explicit History(Units stride = 1) : stride_(stride) {}

  /// Adds a request and returns its number, from 0. Costs O(reuses), whatever the length: prints identify prefixes, so
  /// a binary search finds the end of the common part. REQUIRES: less than 2^32 requests.
  std::uint32_t add(std::span<const std::uint64_t> prints);

  std::uint32_t requests() const { return static_cast<std::uint32_t>(visits_.size()); }
  Units units(std::uint32_t request) const { return visits_[request].units; }
  /// Returns the reuse of earlier requests: from depth 0 on without a gap; deeper units have older requests.
  std::span<const Reuse> reuses(std::uint32_t request) const;
  /// Returns the number of its units that an infinite cache has.
  Units seen(std::uint32_t request) const;
  /// Returns 1, or one more than the turn of the longest earlier request whose whole strides are all a prefix of this
  /// one. A request without a new stride is not continued, because many requests only share their instructions.
  std::uint32_t turn(std::uint32_t request) const { return visits_[request].turn; }
  std::uint64_t distinct_units() const { return prints_.size(); }
  /// Fills `numbers` for each unit of the latest request: equal numbers mean equal prefixes. Dense from 0.
  void numbers_of_last(std::vector<std::uint32_t>& numbers) const;

 private:
  struct Visit {
    Units units = 0;
    std::uint32_t turn = 1;
    std::size_t reuses_end = 0;  ///< end of its range in reuses_
  };
  /// A run of units whose last request is the same.
  struct Node {
    std::size_t at = 0;  ///< position of its first print in prints_
    Units length = 0;
    std::uint32_t by = 0;
  };
  /// Prints are already hashes.
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
  std::vector<std::uint64_t> prints_;  ///< prints of all distinct units
  ByPrint<std::uint32_t> first_;       ///< node by the print of its first unit
  ByPrint<std::uint32_t> turns_;       ///< turn by the print of a request's whole strides
  std::vector<Node> nodes_;
  std::vector<Node> path_;  ///< pieces of nodes of the latest request
};

}  // namespace canopy::lab
