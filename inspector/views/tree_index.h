#pragma once

#include <mirror/mirror.h>

#include <array>
#include <cstdint>
#include <unordered_set>
#include <vector>

namespace canopy::inspector {

/// The mirror's tree in drawing order: row by row, and from left to right within a row. Level 0 contains the
/// namespaces, level 1 the nodes at their roots. A node's width is the tokens of its subtree, its own included; its
/// start is counted in the same tokens. So a part of a row is a range found by bisection, and a picture of a million
/// nodes costs only its pixels. Built again when the mirror's moment changes, without recursion.
///
/// A chain is a sequence of nodes in which each is the only child of the one before, with the same state and under the
/// same locks. It is one place: pages that decoding adds one by one form a line, not a staircase.
class TreeIndex {
 public:
  struct Node {
    std::uint32_t slot = 0;             ///< 0: a namespace
    std::uint32_t last = 0, chain = 1;  ///< last slot of the chain, and its number of nodes
    std::uint32_t space = 0;
    std::uint32_t nodes = 0;  ///< nodes in the subtree, this one included; a namespace does not count itself
    std::uint32_t locks = 0;  ///< locks on it or below it
    std::uint64_t start = 0, tokens = 0;
    Units own = 0;  ///< tokens of its own
    NodeState state = NodeState::evictable;
    bool folded = false;  ///< true if it has children that are not shown
    std::uint64_t end() const { return start + tokens; }
  };
  /// Own tokens by state, for a range of nodes of one level.
  struct Mix {
    std::array<std::uint64_t, kNodeStates> own{};  ///< by NodeState
    std::uint64_t nodes = 0, tokens = 0;           ///< including everything below
    std::uint64_t of(NodeState state) const { return own[static_cast<std::size_t>(state)]; }
    /// Returns the state with the most tokens; in a tie, protected first.
    NodeState most() const;
    Mix& operator-=(const Mix& other);
  };

  /// Builds the index again for another moment, group or set of folded nodes (their ids). Returns false if nothing
  /// changed.
  bool update(const Mirror& mirror, std::size_t group, const std::unordered_set<std::uint64_t>& folded);

  std::size_t levels() const { return level_begin_.empty() ? 0 : level_begin_.size() - 1; }
  std::size_t begin(std::size_t level) const { return level_begin_[level]; }
  std::size_t end(std::size_t level) const { return level_begin_[level + 1]; }
  const Node& operator[](std::size_t place) const { return nodes_[place]; }
  /// Neighbouring places of one level.
  struct Range {
    std::uint32_t first = 0, count = 0;
  };
  /// Returns the children of a shown place; roots() returns the places without a parent.
  Range children(std::size_t place) const;
  Range roots() const;
  /// Returns the parent of a place; kNowhere for a namespace.
  std::uint32_t parent_of(std::size_t place) const { return parents_[place]; }
  /// Returns the number of shown leaves below a place; 1 for a leaf.
  std::uint32_t leaves(std::size_t place) const { return leaves_[place]; }
  /// Returns the `most` places of a range with the most tokens in their subtrees, from left to right; in a tie, the
  /// left ones. Reads a thousandth of the range, and a thousand places for each result.
  std::vector<std::uint32_t> heaviest(Range range, std::size_t most) const;
  std::uint64_t tokens() const { return tokens_; }    ///< tokens of the whole tree
  std::uint64_t version() const { return version_; }  ///< changes with each update that built the index again
  Mix mix(std::size_t first, std::size_t count) const;

  /// Returns the place of a slot's node; kNowhere if it is not shown, for example below a folded node.
  std::uint32_t place_of(std::uint32_t slot) const { return slot < places_.size() ? places_[slot] : kNowhere; }
  std::size_t level_of(std::size_t place) const;
  static constexpr std::uint32_t kNowhere = ~std::uint32_t{0};

  /// Returns the state of a slot's node, for colouring pages. Reads one byte instead of a distant node.
  NodeState state_of(std::uint32_t slot) const { return slot < states_.size() ? states_[slot] : NodeState::without; }

 private:
  void order(const Mirror& mirror, std::size_t group, const std::unordered_set<std::uint64_t>& folded);
  void sum(const Mirror& mirror, std::size_t group);
  void fold(const Mirror& mirror, const std::unordered_set<std::uint64_t>& folded);
  void place(const Mirror& mirror);
  void weigh();

  static constexpr std::size_t kBlock = 1024, kStride = 16;
  void add_own(Mix& to, std::size_t place) const;
  Mix before(std::size_t place) const;  ///< sums over all places before it
  const Mirror* of_ = nullptr;
  std::uint64_t commits_ = 0, version_ = 0;
  bool in_step_ = false;
  std::size_t group_ = 0;
  std::unordered_set<std::uint64_t> folded_;
  std::uint64_t tokens_ = 0;
  std::vector<Node> nodes_;
  std::vector<std::uint32_t> parents_;  ///< parents by place
  std::vector<std::uint32_t> places_;   ///< places by slot
  std::vector<std::uint32_t> leaves_;   ///< numbers of leaves by place
  std::vector<std::uint64_t> weights_;  ///< most tokens of a place, by block of kBlock places
  std::vector<NodeState> states_;       ///< states by slot
  std::vector<std::size_t> level_begin_;
  std::vector<Mix> before_;  ///< sums over all places before every kStride-th place
};

}  // namespace canopy::inspector
