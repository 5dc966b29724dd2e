#pragma once

#include <mirror/mirror.h>

#include <array>
#include <cstdint>
#include <unordered_set>
#include <vector>

namespace canopy::inspector {

/// The mirror's tree in the order it is drawn: row by row, and in a row from left to right. Level 0 are the
/// namespaces, level 1 what begins in them. What a node is wide is the tokens of all that hangs on it, its own
/// included; where it begins is counted in the same tokens. So a part of a row is a range found by bisection, and a
/// million nodes cost a picture no more than its pixels. Made anew when the mirror's moment changes, without recursion.
///
/// A chain, nodes that are each the only child of the one before and of the same state under the same locks, is one
/// place: what decoding adds page by page is a line in a text, not a staircase.
class TreeIndex {
 public:
  struct Node {
    std::uint32_t slot = 0;             ///< 0: a namespace
    std::uint32_t last = 0, chain = 1;  ///< a chain's last slot, and how many it has
    std::uint32_t space = 0;
    std::uint32_t nodes = 0;  ///< on it, itself included; a namespace does not count itself
    std::uint32_t locks = 0;  ///< on it or below it
    std::uint64_t start = 0, tokens = 0;
    Units own = 0;  ///< tokens of its own
    NodeState state = NodeState::evictable;
    bool folded = false;  ///< it has children that are not shown
    std::uint64_t end() const { return start + tokens; }
  };
  /// Own tokens by state, of a range of nodes of one level.
  struct Mix {
    std::array<std::uint64_t, kNodeStates> own{};  ///< by NodeState
    std::uint64_t nodes = 0, tokens = 0;           ///< with all below
    std::uint64_t of(NodeState state) const { return own[static_cast<std::size_t>(state)]; }
    /// The state of most of them; of equal ones the protected one first.
    NodeState most() const;
    Mix& operator-=(const Mix& other);
  };

  /// Builds it again for another moment, group or set of folded nodes (their ids). False if nothing changed.
  bool update(const Mirror& mirror, std::size_t group, const std::unordered_set<std::uint64_t>& folded);

  std::size_t levels() const { return level_begin_.empty() ? 0 : level_begin_.size() - 1; }
  std::size_t begin(std::size_t level) const { return level_begin_[level]; }
  std::size_t end(std::size_t level) const { return level_begin_[level + 1]; }
  const Node& operator[](std::size_t place) const { return nodes_[place]; }
  /// Places of one level side by side.
  struct Range {
    std::uint32_t first = 0, count = 0;
  };
  /// The children of a place that is shown, and the places without a parent.
  Range children(std::size_t place) const;
  Range roots() const;
  /// kNowhere of a namespace.
  std::uint32_t parent_of(std::size_t place) const { return parents_[place]; }
  /// Leaves below a place, of those that are shown; 1 for a leaf.
  std::uint32_t leaves(std::size_t place) const { return leaves_[place]; }
  /// The `most` places of a range with most tokens, all below included, from left to right; of equal ones the left
  /// ones. It reads a thousandth of the range, and a thousand places for each that is found.
  std::vector<std::uint32_t> heaviest(Range range, std::size_t most) const;
  std::uint64_t tokens() const { return tokens_; }    ///< of the whole tree
  std::uint64_t version() const { return version_; }  ///< changes with each update that built it again
  Mix mix(std::size_t first, std::size_t count) const;

  /// Where a slot's node is drawn; kNowhere if it is not, or below a folded one.
  std::uint32_t place_of(std::uint32_t slot) const { return slot < places_.size() ? places_[slot] : kNowhere; }
  std::size_t level_of(std::size_t place) const;
  static constexpr std::uint32_t kNowhere = ~std::uint32_t{0};

  /// By slot, to colour pages: reads one byte instead of a node far away in memory.
  NodeState state_of(std::uint32_t slot) const { return slot < states_.size() ? states_[slot] : NodeState::without; }

 private:
  void order(const Mirror& mirror, std::size_t group, const std::unordered_set<std::uint64_t>& folded);
  void sum(const Mirror& mirror, std::size_t group);
  void fold(const Mirror& mirror, const std::unordered_set<std::uint64_t>& folded);
  void place(const Mirror& mirror);
  void weigh();

  static constexpr std::size_t kBlock = 1024;
  const Mirror* of_ = nullptr;
  std::uint64_t commits_ = 0, version_ = 0;
  bool in_step_ = false;
  std::size_t group_ = 0;
  std::unordered_set<std::uint64_t> folded_;
  std::uint64_t tokens_ = 0;
  std::vector<Node> nodes_;
  std::vector<std::uint32_t> parents_;  ///< places
  std::vector<std::uint32_t> places_;   ///< by slot
  std::vector<std::uint32_t> leaves_;   ///< by place
  std::vector<std::uint64_t> weights_;  ///< most tokens of a place, by blocks of kBlock places
  std::vector<NodeState> states_;       ///< by slot
  std::vector<std::size_t> level_begin_;
  std::vector<Mix> before_;  ///< sums over all places before one
};

}  // namespace canopy::inspector
