#pragma once

#include <algorithm>
#include <span>

#include "queued_node.h"

namespace canopy::radix {

/// The part of a VictimQueue whose entries arrive in any order: a 4-ary heap from which any entry can be erased. Push,
/// erase and update are O(log n). A place in the heap is an index into the array.
class RankHeap {
 public:
  static constexpr std::size_t kBatch = 256;  ///< entries that are ranked together

  explicit RankHeap(QueuePlaces places) : places_(places) {}

  bool empty() const { return entries_.size() == 0; }
  std::size_t size() const { return entries_.size(); }
  const QueuedNode& front() const { return entries_[0]; }  ///< REQUIRES: not empty

  /// Makes room for `size` entries. Returns false if the system has no addresses left.
  bool promise(std::size_t size) { return entries_.promise(size); }
  void push(const QueuedNode& entry) {
    entries_.push_back(entry);
    rise(entries_.size() - 1, entry);
  }
  /// REQUIRES: there is an entry at `place`.
  const QueuedNode& entry(std::uint32_t place) const { return entries_[place]; }
  /// REQUIRES: there is an entry at `place`.
  void erase(std::uint32_t place) {
    const std::size_t hole = place;
    const QueuedNode last = entries_[entries_.size() - 1];
    entries_.pop_back();
    if (hole == entries_.size()) return;
    if (hole > 0 && last < entries_[(hole - 1) / kArity]) rise(hole, last);
    else sink(hole, last);
  }
  /// Gives the entry at `place` another rank and order.
  void update(std::uint32_t place, const QueuedNode& entry) {
    if (entry < entries_[place]) rise(place, entry);
    else sink(place, entry);
  }
  /// Adds an entry and leaves the heap unordered until rerank.
  void append(const QueuedNode& entry) {
    places_(entry.slot) = static_cast<std::uint32_t>(entries_.size());
    entries_.push_back(entry);
  }
  /// Gives each entry a new rank, in O(n): rank_all(entries) sets the ranks of up to kBatch entries.
  template <class RankAll>
  void rerank(RankAll&& rank_all) {
    for (std::size_t first = 0; first < entries_.size(); first += kBatch)
      rank_all(std::span(&entries_[first], std::min(kBatch, entries_.size() - first)));
    if (entries_.size() < 2) return;
    // Most entries stay where they are, and nothing is written for them.
    for (std::size_t i = (entries_.size() - 2) / kArity + 1; i-- > 0;)
      if (entries_[least_child(i)] < entries_[i]) sink(i, entries_[i]);
  }
  void clear() { entries_.clear(); }

  /// Calls visit(entry) for each entry, in no particular order.
  template <class Visit>
  void each(Visit&& visit) const {
    for (std::size_t i = 0; i < entries_.size(); ++i) visit(entries_[i]);
  }
  std::size_t resident() const { return entries_.resident(); }

 private:
  static constexpr std::size_t kArity = 4;

  void put(std::size_t i, const QueuedNode& entry) {
    entries_[i] = entry;
    places_(entry.slot) = static_cast<std::uint32_t>(i);
  }
  void rise(std::size_t i, QueuedNode entry) {
    while (i > 0) {
      const std::size_t parent = (i - 1) / kArity;
      if (!(entry < entries_[parent])) break;
      put(i, entries_[parent]);
      i = parent;
    }
    put(i, entry);
  }
  void sink(std::size_t i, QueuedNode entry) {
    while (i * kArity + 1 < entries_.size()) {
      const std::size_t least = least_child(i);
      if (!(entries_[least] < entry)) break;
      put(i, entries_[least]);
      i = least;
    }
    put(i, entry);
  }
  /// REQUIRES: entry i has a child.
  std::size_t least_child(std::size_t i) const {
    std::size_t least = i * kArity + 1;
    const std::size_t end = std::min(least + kArity, entries_.size());
    for (std::size_t child = least + 1; child < end; ++child)
      if (entries_[child] < entries_[least]) least = child;
    return least;
  }

  Column<QueuedNode> entries_;
  QueuePlaces places_;
};

}  // namespace canopy::radix
