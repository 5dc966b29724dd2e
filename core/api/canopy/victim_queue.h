#pragma once

#include <canopy/eviction_strategy.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace canopy {

/// Min-queue of nodes by rank, with removal of any of them: a 4-ary heap whose entries know their place. For
/// index authors; a policy never sees it. push, erase and pop are O(log n); equal ranks leave by `order`, which
/// the index chooses, then by slot number.
///
/// `Places` maps a slot to a std::uint32_t& that this queue alone writes: kNowhere, or where the slot stands.
template <class Places, template <class...> class Array = std::vector>
class VictimQueue {
 public:
  static constexpr std::uint32_t kNowhere = ~std::uint32_t{0};
  static constexpr std::size_t kWidth = 4;  ///< who comes after the first is one of the next four entries
  struct Entry {
    Rank rank;
    std::uint32_t order, slot;
    friend bool operator<(const Entry& a, const Entry& b) {
      if (a.rank != b.rank) return a.rank < b.rank;
      return a.order != b.order ? a.order < b.order : a.slot < b.slot;
    }
  };

  explicit VictimQueue(Places places) : places_(std::move(places)) {}

  bool empty() const { return heap_.size() == 0; }
  std::size_t size() const { return heap_.size(); }
  const Entry& front() const { return heap_[0]; }
  const Array<Entry>& entries() const { return heap_; }

  /// REQUIRES: `slot` is not in the queue.
  void push(std::uint32_t slot, Rank rank, std::uint32_t order = 0) {
    heap_.push_back({rank, order, slot});
    rise(heap_.size() - 1, {rank, order, slot});
  }
  /// REQUIRES: `slot` is in the queue.
  void erase(std::uint32_t slot) {
    const std::size_t hole = std::exchange(places_(slot), kNowhere);
    const Entry last = heap_[heap_.size() - 1];
    heap_.pop_back();
    if (hole == heap_.size()) return;
    if (hole > 0 && last < heap_[(hole - 1) / kWidth]) rise(hole, last);
    else sink(hole, last);
  }
  /// REQUIRES: `slot` is in the queue.
  void update(std::uint32_t slot, Rank rank, std::uint32_t order = 0) {
    const std::size_t at = places_(slot);
    const Entry entry{rank, order, slot};
    if (entry < heap_[at]) rise(at, entry);
    else sink(at, entry);
  }
  /// Ranks everybody anew, in O(n).
  template <class RankOf>
  void rerank(RankOf&& rank_of) {
    for (std::size_t i = 0; i < heap_.size(); ++i) heap_[i].rank = rank_of(heap_[i].slot);
    if (heap_.size() > 1)
      for (std::size_t i = (heap_.size() - 2) / kWidth + 1; i-- > 0;) sink(i, heap_[i]);
  }
  void clear() {
    for (std::size_t i = 0; i < heap_.size(); ++i) places_(heap_[i].slot) = kNowhere;
    heap_.clear();
  }

 private:
  void put(std::size_t at, const Entry& entry) {
    heap_[at] = entry;
    places_(entry.slot) = static_cast<std::uint32_t>(at);
  }
  void rise(std::size_t at, Entry entry) {
    while (at > 0) {
      const std::size_t parent = (at - 1) / kWidth;
      if (!(entry < heap_[parent])) break;
      put(at, heap_[parent]);
      at = parent;
    }
    put(at, entry);
  }
  void sink(std::size_t at, Entry entry) {
    for (;;) {
      const std::size_t first = at * kWidth + 1;
      if (first >= heap_.size()) break;
      std::size_t least = first;
      const std::size_t end = std::min(first + kWidth, heap_.size());
      for (std::size_t child = first + 1; child < end; ++child)
        if (heap_[child] < heap_[least]) least = child;
      if (!(heap_[least] < entry)) break;
      put(at, heap_[least]);
      at = least;
    }
    put(at, entry);
  }

  Array<Entry> heap_;
  Places places_;
};

}  // namespace canopy
