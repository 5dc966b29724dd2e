#pragma once

#include <utility>

#include "rank_heap.h"
#include "rank_ring.h"

namespace canopy::radix {

/// The nodes that one group may evict, smallest rank first; any of them can be erased. Two parts form one queue: an
/// entry that is not below the last entry of the RankRing is appended there (if ranks are timestamps, every new entry),
/// and all others go into the RankHeap.
class VictimQueue {
 public:
  explicit VictimQueue(QueuePlaces places) : ring_(places), heap_(places), places_(places) {}

  bool empty() const { return ring_.empty() && heap_.empty(); }
  const QueuedNode& front() const {
    if (ring_.empty()) return heap_.front();
    const QueuedNode& first = ring_.front();
    return !heap_.empty() && heap_.front() < first ? heap_.front() : first;
  }
  bool contains(std::uint32_t slot) const { return places_(slot) != QueuePlaces::kNone; }

  /// Makes room for the nodes of slots below `slots`. Returns false if the system has no addresses left.
  bool promise(std::size_t slots) { return heap_.promise(slots); }
  /// REQUIRES: `slot` is not in the queue; promise.
  void push(std::uint32_t slot, Rank rank, std::uint32_t order) {
    const QueuedNode entry{rank, order, slot};
    if ((ring_.empty() || !(entry < ring_.last_entry())) && ring_.append(entry)) return;
    heap_.push(entry);  // also if the ring has no memory to grow
  }
  /// REQUIRES: `slot` is in the queue.
  void erase(std::uint32_t slot) {
    const std::uint32_t place = std::exchange(places_(slot), QueuePlaces::kNone);
    if (place & QueuePlaces::kInRing) ring_.erase(place);
    else heap_.erase(place);
  }
  /// REQUIRES: `slot` is in the queue.
  void update(std::uint32_t slot, Rank rank, std::uint32_t order) {
    const std::uint32_t place = places_(slot);
    const bool in_ring = place & QueuePlaces::kInRing;
    const QueuedNode& had = in_ring ? ring_.entry(place) : heap_.entry(place);
    if (had.rank == rank && had.order == order) return;
    if (in_ring) {
      erase(slot);
      return push(slot, rank, order);
    }
    heap_.update(place, {rank, order, slot});
  }
  /// Gives each entry a new rank, in O(n): RankHeap::rerank.
  template <class RankAll>
  void rerank(RankAll&& rank_all) {
    ring_.each([&](const QueuedNode& entry) { heap_.append(entry); });
    ring_.forget();
    heap_.rerank(rank_all);
  }
  void clear() {
    each([&](const QueuedNode& entry) { places_(entry.slot) = QueuePlaces::kNone; });
    heap_.clear();
    ring_.clear();
  }

  /// Calls visit(entry) for each entry, in no particular order.
  template <class Visit>
  void each(Visit&& visit) const {
    ring_.each(visit);
    heap_.each(visit);
  }
  std::size_t resident() const { return ring_.resident() + heap_.resident(); }

 private:
  RankRing ring_;
  RankHeap heap_;
  QueuePlaces places_;
};

}  // namespace canopy::radix
