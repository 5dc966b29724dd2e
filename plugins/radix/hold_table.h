#pragma once

#include <canopy/types.h>

#include "column.h"

namespace canopy::radix {

/// The state of a node in one group.
struct Hold {
  std::uint32_t count;  ///< whole path: own locks + held children; otherwise: locks whose window covers it
  std::uint32_t place;  ///< place in the group's VictimQueue
  Tick last_access;
};

/// The data that a group's policy keeps about a node.
struct Word {
  std::uint64_t tag;
  Tick spared;
};

/// The Hold and the Word of each node in each group.
class HoldTable {
 public:
  explicit HoldTable(std::size_t groups) : groups_(groups) {}

  Hold& operator()(std::uint32_t slot, std::size_t group) { return holds_[slot * groups_ + group]; }
  const Hold& operator()(std::uint32_t slot, std::size_t group) const { return holds_[slot * groups_ + group]; }
  Word& word(std::uint32_t slot, std::size_t group) { return words_[slot * groups_ + group]; }
  const Word& word(std::uint32_t slot, std::size_t group) const { return words_[slot * groups_ + group]; }
  /// Makes room for the nodes of slots below `slots`. Returns false if the system has no memory.
  bool reserve(std::size_t slots) { return holds_.reserve(slots * groups_) && words_.reserve(slots * groups_); }
  /// REQUIRES: reserve.
  void resize(std::size_t slots) {
    if (!holds_.resize(slots * groups_) || !words_.resize(slots * groups_)) throw std::bad_alloc();
  }
  std::size_t slots() const { return holds_.size() / groups_; }
  std::size_t groups() const { return groups_; }
  std::size_t resident() const { return holds_.resident() + words_.resident(); }

 private:
  std::size_t groups_;
  Column<Hold> holds_;
  Column<Word> words_;
};

}  // namespace canopy::radix
