#pragma once

#include <utility>

#include "queued_node.h"

namespace canopy::radix {

/// The nodes that one group may evict, in a queue for each tenant. A queue is a pairing heap (Fredman, Sedgewick,
/// Sleator and Tarjan, 1986): a push is O(1), an erase O(log n) on average. Its links lie in a table by slot, so that
/// 100,000 queues cost no more than one, and no push takes memory.
class TenantQueues {
 public:
  explicit TenantQueues(QueuePlaces places) : places_(places) {}

  /// Makes room for the nodes of slots below `slots`. Returns false if the system has no memory.
  bool reserve(std::size_t slots) { return slots <= links_.size() || links_.resize(slots); }
  /// Makes room for a tenant. Returns false if the system has no memory.
  bool reserve(TenantId tenant) {
    const std::size_t count = static_cast<std::size_t>(tenant) + 1;
    return count <= roots_.size() || roots_.resize(count);
  }
  std::size_t tenants() const { return roots_.size(); }

  /// Returns the slot of a tenant's first node; 0 if it has none.
  std::uint32_t front(TenantId tenant) const { return roots_[static_cast<std::size_t>(tenant)]; }
  const QueuedNode& entry(std::uint32_t slot) const { return links_[slot].entry; }
  /// Puts a node into a tenant's queue, or gives it another place in it. REQUIRES: reserve.
  void put(TenantId tenant, const QueuedNode& entry) {
    Link& link = links_[entry.slot];
    std::uint32_t& place = places_(entry.slot);
    if (place != QueuePlaces::kNone) {
      if (link.entry.rank == entry.rank && link.entry.order == entry.order) return;
      erase(tenant, entry.slot);
    }
    place = 0;
    link = {entry, 0, 0, 0};
    root(tenant) = meld(root(tenant), entry.slot);
  }
  /// REQUIRES: the node is in the tenant's queue.
  void erase(TenantId tenant, std::uint32_t slot) {
    places_(slot) = QueuePlaces::kNone;
    const Link link = links_[slot];
    if (link.before == 0) {
      root(tenant) = joined(link.child);
      return;
    }
    Link& before = links_[link.before];
    (before.child == slot ? before.child : before.next) = link.next;
    if (link.next) links_[link.next].before = link.before;
    root(tenant) = meld(root(tenant), joined(link.child));
  }
  /// Forgets all nodes, without a change of their places.
  void forget() {
    for (std::size_t i = 0; i < roots_.size(); ++i) roots_[i] = 0;
  }
  std::size_t resident() const { return links_.resident() + roots_.resident(); }

 private:
  struct Link {
    QueuedNode entry;
    std::uint32_t child, next, before;  ///< first child; next sibling; previous sibling, or the parent of a first child
  };
  std::uint32_t& root(TenantId tenant) { return roots_[static_cast<std::size_t>(tenant)]; }
  /// Joins two heaps, each of which may be empty. Returns the root.
  std::uint32_t meld(std::uint32_t a, std::uint32_t b) {
    if (a == 0 || b == 0) return a | b;
    if (links_[b].entry < links_[a].entry) std::swap(a, b);
    const std::uint32_t next = std::exchange(links_[a].child, b);
    links_[b].next = next;
    links_[b].before = a;
    if (next) links_[next].before = b;
    return a;
  }
  /// Joins a list of siblings, in pairs and then from the last pair to the first. Returns the root.
  std::uint32_t joined(std::uint32_t first) {
    const auto alone = [&](std::uint32_t slot) {
      links_[slot].before = 0;
      return std::exchange(links_[slot].next, 0);
    };
    std::uint32_t pairs = 0;  // the last pair first
    while (first) {
      const std::uint32_t a = first, b = alone(a);
      first = b ? alone(b) : 0;
      const std::uint32_t pair = meld(a, b);
      links_[pair].next = std::exchange(pairs, pair);
    }
    std::uint32_t root = 0;
    while (pairs) {
      const std::uint32_t next = alone(pairs);
      root = meld(root, std::exchange(pairs, next));
    }
    return root;
  }

  Column<Link> links_;           ///< by slot
  Column<std::uint32_t> roots_;  ///< by tenant
  QueuePlaces places_;
};

}  // namespace canopy::radix
