#pragma once

#include "chain.h"

#include <canopy/prefix_index.h>

#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

namespace canopy::test {

/// What a prefix index must know, as the plainest thing that can know it: a map from (namespace, whole pages so far)
/// to the page number that each group has there, and how many locks need it. No nodes, so it shares no fault with a
/// tree. A boundary can be reused if every group has the pages of the last `reach` units before it. A lock needs those
/// pages, and no eviction may take one. A page that no other follows and no lock's key runs through is of no use once
/// another group has none there: it leaves with that group's. Lengths and counts are in pages.
class FlatIndex {
 public:
  template <class T>
  using PerGroup = std::array<T, kMaxGroups>;

  struct Entry {
    PerGroup<Page> pages{};           ///< 0: the group has none here
    PerGroup<std::uint32_t> locks{};  ///< locks that need the group's page
    std::uint32_t paths = 0;          ///< locks whose key runs through here
    std::uint32_t after = 0;          ///< entries that follow this one
    std::uint32_t word = 0;           ///< the first of the page
    PrefixName before = 0;            ///< the page that this one follows; 0: none
    NamespaceId space{};
  };
  struct Hold {
    Chain chain;
    PerGroup<std::size_t> from{};  ///< per group, the first page of the chain that the lock needs
  };
  struct Added {
    std::size_t had = 0;                ///< pages of the chain that were known
    std::size_t length = 0;             ///< pages of it that are known now
    std::size_t refilled = 0;           ///< pages that filled a tombstone
    PerGroup<std::vector<Page>> spare;  ///< pages of the caller for which the model has others
  };

  FlatIndex(Units page_size, std::vector<Units> reaches) : page_size_(page_size), reaches_(std::move(reaches)) {}

  /// Pages of the chain up to the deepest boundary that every group can serve.
  std::size_t matched(ChainView chain) const;
  /// Pages of the chain that every whole-path group has from the start; all that is known if there is no such group.
  std::size_t full_length(ChainView chain) const;
  /// Pages of the chain that the index has a node for: something here or further down is resident, or locked.
  std::size_t known(ChainView chain) const;
  /// Pages of the group that a lock on all of the chain would newly protect. REQUIRES: the boundary can be reused.
  std::size_t unlocked(ChainView chain, std::size_t group) const;
  /// The group's pages from the start of the chain; 0 where the lock does not need them or there are none.
  std::vector<Page> pages(const Hold& hold, std::size_t group) const;

  /// `brought` stands for chain[below...] in each group. REQUIRES: chain[0..below) is known.
  Added insert(const Key& key, ChainView chain, std::size_t below, const PerGroup<std::vector<Page>>& brought);
  Hold lock(Chain chain);
  void unlock(const Hold& hold);
  /// The lock needs the group from page `from` on only. If it would need no page of any group, it keeps its last one
  /// in this group. Without effect on a whole-path group.
  void relax(Hold& hold, std::size_t group, std::size_t from);
  void relocate(PrefixName name, std::size_t group, Page to);
  /// The group's page is evicted. A Mismatch says if a lock needs it, or if it is not there.
  void remove(std::size_t group, Page page);
  /// Call it when all pages of one eviction, flush or release are removed. What left a group took along, in groups with
  /// a smaller reach, the pages that no lock needs; no page is below one that left a whole-path group; and no page is
  /// there of which no use can be made.
  void check_removed();
  /// Pages of no use that were removed with others so far.
  std::uint64_t removed_unusable() const { return removed_unusable_; }
  void clear();

  const Entry* find(PrefixName name) const;
  /// Where a page of the group is. A Mismatch says if it is not there.
  PrefixName name_of_page(std::size_t group, Page page) const;
  /// The names of all pages of a group that no lock needs, in an order that depends on their history alone.
  std::vector<PrefixName> all_unlocked(std::size_t group, std::optional<NamespaceId> space = {}) const;
  std::vector<Page> all_pages(std::size_t group) const;
  std::size_t entries() const { return entries_.size(); }

  Sizes sizes(std::size_t group) const { return total_[group]; }
  Sizes sizes(std::size_t group, NamespaceId space) const;

 private:
  bool whole_path(std::size_t group) const { return reaches_[group] == kWholePath; }
  /// The first page that a group must have for a boundary after `length` pages.
  std::size_t window(std::size_t group, std::size_t length) const;
  void count(const Entry& entry, std::size_t group, bool add);
  void add_locks(ChainView chain, std::size_t group, bool add);
  void take(Entry& entry, std::size_t group);
  /// Forgets the entry and those before it, as far as nothing follows and no use can be made of what is there; or, with
  /// `empty_only`, as far as nothing is there.
  void prune(PrefixName name, bool empty_only = false);

  Units page_size_;
  std::vector<Units> reaches_;
  std::unordered_map<PrefixName, Entry> entries_;
  PerGroup<std::unordered_map<Page, PrefixName>> names_;
  PerGroup<std::vector<Sizes>> by_space_;
  PerGroup<Sizes> total_{};
  std::vector<std::pair<std::size_t, PrefixName>> removed_;  ///< since the last check_removed
  PerGroup<std::set<Page>> unusable_;                        ///< pages of no use that must be removed before the next
  std::uint64_t removed_unusable_ = 0;
};

}  // namespace canopy::test
