#pragma once

#include <canopy/feed/feed.h>
#include <canopy/plugin.h>

#include "accounting.h"
#include "node_table.h"
#include "run_store.h"
#include "victim_queue.h"

#include <optional>
#include <vector>

namespace canopy::radix {

/// A radix tree over pages. The design, and what each piece costs, is in docs/radix.md; in short:
///  - a node is a window on a run, so a split copies nothing and an insert copies its own words once;
///  - for whole-path groups a node's hold count is its own locks plus its children that are held, so a lock
///    climbs only to the first node already held; the true reference counts are sums, made in visit();
///  - facts that climb (recency, priority, inserts) are written where a request ends and handed to the parent
///    when a node leaves: nobody reads them on an inner node before;
///  - nothing recurses, and nothing but visit, flush, remap and clear is proportional to the tree.
class RadixIndex final : public PrefixIndex {
 public:
  struct Config {
    AccountingName accounting = AccountingName::standard;
    /// Percent of the storage in use that free storage may hold in memory, if that is more than prefault took.
    std::uint64_t keep_free = 15;
    /// Memory for a full pool, up to 256 MiB, from the start; none for an unlimited one. A later limit changes nothing.
    bool prefault = true;
    void visit(Options& options);
  };
  RadixIndex(const Config& config, const Context& context);

  Probe peek(const Key& key) const override;
  Lock match(const Key& key, const RequestFacts& request) override;
  GroupPages pages(const Lock& lock, Units from) override;
  Inserted insert(const Lock& lock, const Key& key, const GroupPages& pages, InsertFacts facts) override;
  void relax(Lock& lock, std::size_t group, Units from) override;
  void release(const Lock& lock, const RequestFacts* finished) override;
  GroupPages evict(std::size_t group, std::size_t pages) override;
  GroupPages flush(NamespaceId space) override;
  GroupPages clear() override;
  Sizes sizes(std::size_t group) const override { return sizes_[group]; }
  Sizes sizes(std::size_t group, NamespaceId space) const override;
  IndexUse use() const override;
  Tick now() const override { return now_; }
  void set_capacity(std::size_t group, std::uint64_t units) override { groups_[group].group.capacity = units; }
  void use_policy(std::size_t group, EvictionStrategy* policy) override;
  void waiting(std::size_t group, QueueVisitor& visitor) const override;
  void remap(std::size_t group, std::span<const Page> from, std::span<const Page> to) override;
  void visit(NodeVisitor& visitor) const override;

 private:
  /// What a node is in one group.
  struct Hold {
    std::uint32_t count;  ///< whole path: own locks + held children; otherwise: locks whose window covers it
    std::uint32_t place;  ///< in the group's queue
    Tick last_access;
  };
  struct Places {
    Column<Hold>* holds;
    std::size_t groups, group;
    std::uint32_t& operator()(std::uint32_t slot) const { return (*holds)[slot * groups + group].place; }
  };
  using Queue = VictimQueue<Places, Column>;
  struct Space {
    Slot root;
    Sizes sizes[kMaxGroups];
  };
  struct PerGroup {
    Group group;
    Queue queue;
    std::uint64_t allocated = 0;  ///< units ever inserted
    std::uint64_t ranked_at = 0;  ///< `allocated` when everybody was last ranked (Volatility::epoch)
    bool whole_path() const { return group.reach == kWholePath; }
  };
  /// Where a walk ended: `matched` units of `node` agree with the key, or all of it.
  struct Walk {
    Slot node = 0;
    Units matched = 0;  ///< of the node
    Units depth = 0;    ///< from the root
  };
  class PathOf;
  /// The pages an insert came with: those of the units from depth `from` on.
  struct Brought {
    const GroupPages& pages;
    Units from;
    Page page(std::size_t group, Units depth, Units page_size) const {
      return pages[group][(depth - from) / page_size];
    }
    /// Which groups have something at a depth.
    std::uint32_t mask(Units depth, Units page_size, std::size_t groups) const {
      std::uint32_t mask = 0;
      for (std::size_t g = 0; g < groups; ++g) mask |= std::uint32_t{page(g, depth, page_size) != 0} << g;
      return mask;
    }
  };

  // The walk: radix_index.cpp.
  Units whole_units(std::size_t words) const;
  /// The tick of an event inside an operation.
  Tick read_clock() { return accounting_.tick_per_operation ? now_ : ++now_; }
  std::uint32_t fingerprint(Slot parent, const std::uint32_t* first) const;
  const std::uint32_t* words(const Node& node) const;
  const Page* node_pages(const Node& node) const;
  Page* node_pages(const Node& node);
  /// Where the next step of a walk will look, if it goes on below `parent`.
  struct Ahead {
    Slot parent = 0;
    std::uint32_t fingerprint = 0;
  };
  Slot child(Slot parent, const Key& key, Units depth, Units limit, Units& common, Ahead& ahead) const;
  template <class Touch>
  Walk walk(const Key& key, Touch&& touch) const;

  /// On the way up the path that `match` walked down: asks for a few nodes further up. Each names its parent, so
  /// they could only come one after the other.
  class Return {
   public:
    explicit Return(const RadixIndex& index) : index_(index), left_(index.path_.size()) {
      for (std::size_t i = 0; i < kAhead; ++i) step();
    }
    void step() {
      if (left_ == 0) return;
      const Slot slot = index_.path_[--left_];
      index_.nodes_.prefetch(slot);
      prefetch(&index_.holds_[slot * index_.groups_.size()]);
    }

   private:
    static constexpr std::size_t kAhead = 8;
    const RadixIndex& index_;
    std::size_t left_;
  };

  // Growing: radix_insert.cpp.
  bool make_room(std::size_t count);
  Slot root_of(NamespaceId space);
  Slot make_node(NamespaceId space);
  Slot split(Slot lower, Units at);
  std::size_t residency_changes(const Brought& brought, Units limit) const;
  void keep_out(const Brought& brought, Units from, Units to, std::uint32_t mask);
  Slot refill(Slot node, const Brought& brought);
  Slot append(Slot parent, const Key& key, Units depth, Units limit, const Brought& brought, InsertFacts facts);
  void count_insert(Slot slot, InsertFacts facts);
  void touch(Slot slot, Tick stamp);

  // Holding: radix_locks.cpp.
  std::uint32_t all_groups() const { return (1U << groups_.size()) - 1; }
  Hold& hold(Slot slot, std::size_t group) { return holds_[slot * groups_.size() + group]; }
  const Hold& hold(Slot slot, std::size_t group) const { return holds_[slot * groups_.size() + group]; }
  bool held(Slot slot) const;
  bool holds(const Lock& lock) const;
  Units hold_from(Units length, std::size_t group) const;
  Lock lock_at(Slot node);
  void let_go(Slot node, std::size_t group, Units from);
  Sizes& space_sizes(NamespaceId space, std::size_t group);
  void arrive(Slot slot, std::size_t group);
  void move(Slot slot, std::size_t group, bool to_protected);

  // Telling: radix_report.cpp.
  bool told() const { return feed_ && feed_->on(); }
  void tell(EventKind kind, Slot slot, std::size_t group = 0, std::uint64_t a = 0, std::uint64_t b = 0) const {
    if (told())
      feed_->push({kind, static_cast<std::uint8_t>(group), 0, 0, static_cast<std::uint64_t>(nodes_.id(slot)), a, b});
  }
  void tell_locked(Slot node, const Lock& lock, std::size_t first_group) const;
  void tell_relocked(Slot node, const Lock& lock, Slot before, const Lock& had) const;
  void tell_added(Slot slot, const std::uint32_t* words, const Brought& brought) const;
  void tell_pages(Slot slot, std::size_t group) const;
  void tell_facts(Slot slot) const;

  // Leaving: radix_eviction.cpp.
  PolicyClock clock(std::size_t group) const;
  NodeFacts facts(Slot slot, std::size_t group) const;
  bool may_leave(Slot slot, std::size_t group) const;
  void requeue(Slot slot, std::size_t group);
  void requeue(Slot slot);
  void look_ahead(std::size_t group) const;
  void leave(Slot slot, std::size_t group);
  void vacate(Slot slot, std::size_t group);
  void remove(Slot slot);
  void drop_empty_root(Slot slot);
  void rank_all(std::size_t group);
  void clear_out();
  GroupPages out() const;

  Accounting accounting_;
  Units page_, overlap_;
  FeedWriter* feed_;
  std::uint64_t keep_free_, words_ahead_;  ///< of the RunStore
  std::vector<PerGroup> groups_;
  std::array<Sizes, kMaxGroups> sizes_{};
  NodeTable nodes_;
  Column<Hold> holds_;
  RunStore runs_;
  Column<Space> spaces_;
  std::uint64_t node_count_ = 0, refused_ = 0;
  Tick now_ = 0;
  Column<Slot> path_;                         ///< what the match that is running walked down
  std::array<Column<Page>, kMaxGroups> out_;  ///< what the last result points to
};

}  // namespace canopy::radix
