#pragma once

#include <canopy/eviction_strategy.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace canopy::python {

/// The chunks that may be evicted, smallest rank first: a binary heap that knows the place of each of its members, so
/// that a rank can change and a member can leave.
class RankQueue {
 public:
  struct Entry {
    Rank rank;
    std::uint32_t order = 0;  ///< breaks ties of the rank; then the slot does
    std::uint32_t slot = 0;
  };

  bool empty() const { return heap_.empty(); }
  std::size_t size() const { return heap_.size(); }
  const Entry& front() const { return heap_.front(); }
  std::vector<Entry>& entries() { return heap_; }
  const std::vector<Entry>& entries() const { return heap_; }
  bool contains(std::uint32_t slot) const { return slot < places_.size() && places_[slot] != 0; }

  /// Takes the memory for slots below `slots`, so that put() never needs any.
  void reserve(std::size_t slots) {
    heap_.reserve(slots);
    places_.resize(slots);
  }
  /// Adds a member, or gives it another rank.
  void put(const Entry& entry) {
    std::size_t at = places_[entry.slot];
    if (at == 0) {
      heap_.push_back(entry);
      at = heap_.size();
    }
    heap_[at - 1] = entry;
    settle(at - 1);
  }
  void erase(std::uint32_t slot) {
    const std::size_t at = std::exchange(places_[slot], 0);
    if (at == 0) return;
    const Entry last = heap_.back();
    heap_.pop_back();
    if (last.slot == slot) return;
    heap_[at - 1] = last;
    settle(at - 1);
  }
  /// Restores the order after the ranks of entries() changed.
  void reorder() {
    for (std::size_t i = 0; i < heap_.size(); ++i) place(i);
    for (std::size_t i = heap_.size() / 2; i-- > 0;) sink(i);
  }
  void clear() {
    heap_.clear();
    places_.assign(places_.size(), 0);
  }

 private:
  static bool before(const Entry& a, const Entry& b) {
    if (a.rank != b.rank) return a.rank < b.rank;
    return a.order != b.order ? a.order < b.order : a.slot < b.slot;
  }
  void place(std::size_t at) { places_[heap_[at].slot] = static_cast<std::uint32_t>(at + 1); }
  void settle(std::size_t at) {
    const Entry entry = heap_[at];
    while (at > 0 && before(entry, heap_[(at - 1) / 2])) {
      heap_[at] = heap_[(at - 1) / 2];
      place(at);
      at = (at - 1) / 2;
    }
    heap_[at] = entry;
    sink(at);
  }
  void sink(std::size_t at) {
    const Entry entry = heap_[at];
    for (std::size_t child; (child = 2 * at + 1) < heap_.size(); at = child) {
      if (child + 1 < heap_.size() && before(heap_[child + 1], heap_[child])) ++child;
      if (!before(heap_[child], entry)) break;
      heap_[at] = heap_[child];
      place(at);
    }
    heap_[at] = entry;
    place(at);
  }

  std::vector<Entry> heap_;
  std::vector<std::uint32_t> places_;  ///< by slot: the place in the heap, from 1; 0: not a member
};

}  // namespace canopy::python
