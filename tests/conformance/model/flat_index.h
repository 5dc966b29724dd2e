#pragma once

#include "chain.h"

#include <canopy/prefix_index.h>

#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

namespace canopy::test {

/// The simplest possible model of a prefix index: a map from (namespace, whole pages so far) to each group's page
/// number there and the number of locks that need it. It has no nodes, so it shares no fault with a tree. A boundary
/// can be reused if every group has the pages of the last `reach` units before it. A lock needs those pages, and no
/// eviction may take one. A page that no other page follows and no lock's key goes through is a dead leaf as soon as
/// another group has none there: it is removed together with that group's page. Each namespace belongs to a tenant. A
/// page can be kept as well, any number of times, which protects nothing. Lengths and counts are in pages.
class FlatIndex {
 public:
  template <class T>
  using PerGroup = std::array<T, kMaxGroups>;

  struct Entry {
    PerGroup<Page> pages{};           ///< 0: the group has no page here
    PerGroup<std::uint32_t> locks{};  ///< locks that need the group's page
    std::uint32_t paths = 0;          ///< locks whose key goes through here
    std::uint32_t kept = 0;           ///< times that it is kept
    std::uint32_t after = 0;          ///< entries that follow this one
    std::uint32_t word = 0;           ///< first word of the page
    PrefixName before = 0;            ///< name of the previous page; 0: none
    NamespaceId space{};
  };
  struct Hold {
    Chain chain;
    PerGroup<std::size_t> from{};  ///< first page of the chain that the lock needs, per group
  };
  struct Added {
    std::size_t had = 0;                ///< pages of the chain that were known before
    std::size_t length = 0;             ///< pages of the chain that are known now
    std::size_t refilled = 0;           ///< pages that filled a tombstone
    PerGroup<std::vector<Page>> spare;  ///< the caller's pages that the model already has
  };

  FlatIndex(Units page_size, std::vector<Units> reaches) : page_size_(page_size), reaches_(std::move(reaches)) {}

  /// Returns the pages of the chain up to the deepest boundary that every group can serve.
  std::size_t matched(ChainView chain) const;
  /// Returns the pages of the chain that every whole-path group has from the start, or all known pages if there is no
  /// such group.
  std::size_t full_length(ChainView chain) const;
  /// Returns the pages of the chain that the index has a node for: something here or deeper is resident or locked.
  std::size_t known(ChainView chain) const;
  /// Returns the group's pages that a lock on the whole chain would newly protect. REQUIRES: the boundary can be
  /// reused.
  std::size_t unlocked(ChainView chain, std::size_t group) const;
  /// Returns the group's pages from the start of the chain; 0 where the lock does not need them or there are none.
  std::vector<Page> pages(const Hold& hold, std::size_t group) const;

  /// Inserts pages: `brought` holds chain[below...] in each group. REQUIRES: chain[0..below) is known.
  Added insert(const Key& key, ChainView chain, std::size_t below, const PerGroup<std::vector<Page>>& brought);
  Hold lock(Chain chain);
  void unlock(const Hold& hold);
  /// Limits the lock to the group's pages from `from` on. If it would need no page of any group, it keeps its last one
  /// in this group. No effect on a whole-path group.
  void relax(Hold& hold, std::size_t group, std::size_t from);
  /// Keeps the whole chain of a lock once more. Returns its pages that were not kept before.
  std::size_t keep(const Hold& hold);
  /// Undoes keep(). Returns the pages that are no longer kept.
  std::size_t unkeep(const Hold& hold);
  void relocate(PrefixName name, std::size_t group, Page to);
  /// Records that the group's page is evicted. Throws a Mismatch if a lock needs it or it is not present.
  void remove(std::size_t group, Page page);
  /// Checks an eviction, flush or release after all its pages are removed: groups with a smaller reach also lost the
  /// pages that no lock needs; no page is below one that left a whole-path group; and no dead leaf remains.
  void check_removed();
  /// Returns the number of dead leaves removed with others so far.
  std::uint64_t removed_unusable() const { return removed_unusable_; }
  /// Forgets all pages and locks, but not the tenants of the namespaces.
  void clear();
  void assign(NamespaceId space, TenantId tenant);
  TenantId tenant_of(NamespaceId space) const;

  const Entry* find(PrefixName name) const;
  /// Returns the position of a group's page. Throws a Mismatch if it is not present.
  PrefixName name_of_page(std::size_t group, Page page) const;
  /// Returns the names of all pages of a group that no lock needs, in an order that depends only on their history.
  std::vector<PrefixName> all_unlocked(std::size_t group, std::optional<NamespaceId> space = {}) const;
  std::vector<Page> all_pages(std::size_t group) const;
  std::size_t entries() const { return entries_.size(); }

  Sizes sizes(std::size_t group) const { return total_[group]; }
  Sizes sizes(std::size_t group, NamespaceId space) const;
  Sizes sizes(std::size_t group, TenantId tenant) const;

 private:
  bool whole_path(std::size_t group) const { return reaches_[group] == kWholePath; }
  /// Returns the first page that a group must have for a boundary after `length` pages.
  std::size_t window(std::size_t group, std::size_t length) const;
  void count(const Entry& entry, std::size_t group, bool add);
  void add_locks(ChainView chain, std::size_t group, bool add);
  void take(Entry& entry, std::size_t group);
  /// Forgets the entry and those before it, while nothing follows and their pages cannot be used; or, with
  /// `empty_only`, while they have no pages.
  void prune(PrefixName name, bool empty_only = false);

  Units page_size_;
  std::vector<Units> reaches_;
  std::vector<TenantId> tenants_;  ///< by namespace; the namespaces after the last one are the unnamed tenant's
  std::unordered_map<PrefixName, Entry> entries_;
  PerGroup<std::unordered_map<Page, PrefixName>> names_;
  PerGroup<std::vector<Sizes>> by_space_;
  PerGroup<Sizes> total_{};
  std::vector<std::pair<std::size_t, PrefixName>> removed_;  ///< removed since the last check_removed
  PerGroup<std::set<Page>> unusable_;  ///< dead leaves that must be removed before the next operation
  std::uint64_t removed_unusable_ = 0;
};

}  // namespace canopy::test
