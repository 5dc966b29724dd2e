#pragma once

#include <canopy/plugin.h>

#include "accounting.h"
#include "groups.h"
#include "hold_table.h"
#include "incoming_pages.h"
#include "leaving_path.h"
#include "node_events.h"
#include "node_table.h"
#include "path_prints.h"
#include "result_pages.h"
#include "runs.h"
#include "spaces.h"

namespace canopy::radix {

/// A radix tree over pages. The design and the cost of each piece are in docs/design.md; in short:
///  - a node is a window on a run, so a split copies nothing and an insert copies its own words once;
///  - for whole-path groups a node's hold count is its own locks plus its children that are held, so a lock
///    climbs only to the first node that is held already; visit() adds up the true reference counts;
///  - recency, priority and inserts are written to the node where a request ends, and an evicted node hands them to
///    its parent: until then no policy reads them on an inner node;
///  - no function recurses, and only visit, flush, remap and clear take time proportional to the size of the tree.
class RadixIndex final : public PrefixIndex, public SchedulingIndex, public TenantIndex {
 public:
  struct Config {
    AccountingName accounting = AccountingName::standard;
    /// Memory that free storage may keep, in percent of the storage in use. It may keep more if prefault took more.
    std::uint64_t keep_free = 15;
    /// If true, memory for a full pool, up to 256 MiB, is taken at the start; none for an unlimited pool. A later limit
    /// changes nothing.
    bool prefault = true;
    void visit(Options& options);
  };
  RadixIndex(const Config& config, const Context& context);

  Probe peek(const Key& key) const override;
  Lock match(const Key& key, const RequestFacts& request) override;
  Found find(const Key& key) override;
  void prefetch(std::span<const Key> keys) const override;
  Lock hold(NodeId node, const RequestFacts* arrives) override;
  GroupPages pages(const Lock& lock, Units from) override;
  GroupPages pages(NodeId node, Units from) override;
  Inserted insert(const Lock& lock, const Key& key, const GroupPages& pages, InsertFacts facts) override;
  void relax(Lock& lock, std::size_t group, Units from) override;
  GroupPages release(const Lock& lock, const RequestFacts* ended) override;
  GroupPages evict(std::size_t group, std::size_t pages, Cause cause, LeavingVisitor* visitor) override;
  GroupPages flush(NamespaceId space) override;
  GroupPages clear() override;
  Sizes sizes(std::size_t group) const override { return spaces_.sizes(group); }
  Sizes sizes(std::size_t group, NamespaceId space) const override { return spaces_.sizes(group, space); }
  IndexUse use() const override;
  Tick now() const override { return now_; }
  void set_capacity(std::size_t group, std::uint64_t units) override { groups_[group].group.capacity = units; }
  bool use_policy(std::size_t group, EvictionStrategy* policy) override;
  void waiting(std::size_t group, QueueVisitor& visitor) const override;
  void remap(std::size_t group, std::span<const Page> from, std::span<const Page> to) override;
  const SchedulingIndex* scheduling() const override { return this; }
  void order_by_weight(std::span<const NodeId> ends, std::span<std::uint32_t> order) const override;
  void visit(NodeVisitor& visitor) const override;

  TenantIndex* tenants() override { return this; }
  bool assign(NamespaceId space, TenantId tenant) override;
  Sizes sizes(std::size_t group, TenantId tenant) const override { return spaces_.sizes(group, tenant); }
  bool use_policy(std::size_t group, TenantId tenant, EvictionStrategy* policy) override;
  GroupPages evict(TenantId tenant, std::size_t group, std::size_t pages, std::size_t most, Cause cause,
                   LeavingVisitor* visitor) override;
  Units keep(const Lock& lock) override;
  Units unkeep(const Lock& lock) override;
  Units unkept(NodeId node) const override;

 private:
  /// The end of a walk: the first `matched` units of `node`, or all of it, agree with the key.
  struct Walk {
    Slot node = 0;
    Units matched = 0;  ///< units that agree, in `node`
    Units depth = 0;    ///< units from the root
    Units full = 0;     ///< Probe::full_length
  };

  // Matching: radix_index.cpp.
  template <class Touch>
  Walk walk(const Key& key, Touch&& touch) const;
  Found arrive(const Key& key);
  void use(Slot end, bool is_hit);
  void report_arrival(const RequestFacts& request);
  void report_lock(Slot end, const Lock& lock, Tick used) const;
  bool may_hold(Slot end) const;
  /// Returns the tick of an event inside an operation (Accounting::tick_per_operation).
  Tick read_clock() { return accounting_.tick_per_operation ? now_ : ++now_; }
  void clear_results();
  bool promise_pages(Units units);

  // Inserting: radix_insert.cpp.
  bool make_room(std::size_t count);
  bool promise_results(const GroupPages& incoming);
  Slot root_of(NamespaceId space);
  Slot make_node(NamespaceId space);
  Slot split(Slot lower, Units at);
  void keep_path_limits(Slot tail, Inserted& inserted);
  void return_to_caller(const IncomingPages& incoming, Units from, Units to, std::uint32_t mask);
  Slot refill(Slot node, const IncomingPages& incoming);
  Slot append(Slot parent, const Key& key, Units depth, Units limit, const IncomingPages& incoming, InsertFacts facts);
  void count_insert(Slot slot, InsertFacts facts);
  void touch(Slot slot, Tick stamp, bool windows);
  void touch_deepest(Slot end, Units from);
  void touch_windows(Slot end, Tick stamp);

  // Locks: radix_locks.cpp. A lock is known by the node in which it ends.
  static LockId id_of(NodeId node) { return LockId{static_cast<std::uint64_t>(node)}; }
  Slot end_of(const Lock& lock) const { return nodes_.find(NodeId{static_cast<std::uint64_t>(lock.id)}); }
  bool held(Slot slot) const;
  bool holds(const Lock& lock) const;
  Lock lock_at(Slot node, Units full_length);
  void unlock(Slot node, std::size_t group, Units from);
  void add_resident(Slot slot, std::size_t group);
  void set_protected(Slot slot, std::size_t group, bool is_protected);

  // Tenants: radix_tenants.cpp.
  bool keep_apart(TenantId tenant);

  // Evicting: radix_eviction.cpp.
  bool spare(Slot victim, std::size_t group);
  void evict_next(Slot victim, std::size_t group, Cause cause, LeavingVisitor* visitor);
  void report_leaving(Slot slot, std::size_t group, LeavingVisitor& visitor);
  void evict_node(Slot slot, std::size_t group, Cause cause);
  void evict_above(Slot tail, std::size_t group);
  void make_tombstone(Slot slot, std::size_t group, Cause cause);
  void drop_pages(Slot slot, std::size_t group, Cause cause);
  struct Removed {
    Slot next, parent;  ///< neighbours of the topmost node that was removed
  };
  bool is_dead_leaf(Slot slot) const;
  Removed remove(Slot slot, Cause cause, std::size_t group = kMaxGroups);
  void drop_empty_root(Slot slot);

  Accounting accounting_;
  Units page_;
  NodeTable nodes_;
  HoldTable holds_;
  Runs runs_;
  Spaces spaces_;
  PathPrints prints_;
  LeavingPath leaving_;
  NodeEvents events_;
  Tick now_;
  Groups groups_;
  std::uint64_t node_count_ = 0, refused_ = 0, cut_short_ = 0;
  /// By slot, once tenants are kept apart: keeps that end in the node, and children that are kept.
  Column<std::uint32_t> kept_;
  Column<Slot> path_;    ///< nodes that the current match walked down
  ResultPages results_;  ///< page lists that the last result refers to
};

}  // namespace canopy::radix
