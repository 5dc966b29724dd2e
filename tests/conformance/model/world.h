#pragma once

#include "flat_index.h"
#include "outcome.h"
#include "part.h"
#include "victim_order.h"
#include "world_config.h"

#include <canopy/prefix_index.h>
#include <canopy/tenant_index.h>
#include <program/operation.h>

#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

namespace canopy::test {

using program::Operation, program::Verb;

/// The coverage that a program reached.
struct Coverage {
  std::uint64_t operations = 0, splits = 0, left = 0, left_beside_locks = 0, left_as_new_leaf = 0, spare_pages = 0,
                hits = 0, refused_locks = 0, out_of_pages = 0, walks = 0, most_nodes = 0;
  // Windows and states.
  std::uint64_t tombstones = 0, refilled = 0, short_matches = 0, relaxed = 0, unusable = 0;
  // Tenants: namespaces with pages that were assigned, evictions of one tenant, the nodes that these cut, and keeps of
  // a path of which some pages, but not all, were kept before.
  std::uint64_t moved = 0, left_of_tenant = 0, cuts = 0, partly_kept = 0;
  // Found results that were locked later.
  std::uint64_t sights_held = 0, sights_gone = 0, sights_broken = 0;
  void add(const Coverage& other);
};

/// An index and an allocator for each of its groups, driven as by an engine, next to the models of their behaviour.
/// After every operation all results, sums and owners are compared; a Mismatch contains the difference.
///
/// Results of a group carry its name ("window.pages") if the configuration names groups.
class World {
 public:
  explicit World(const WorldConfig& config);

  /// Runs an operation. Skips operations on a lock or pages that do not exist, so that a program stays valid when parts
  /// of it are deleted. In a scenario they are a Mismatch.
  Outcome apply(const Operation& operation);
  /// Releases everything, empties the index by eviction, and checks that no page is missing.
  void finish();

  const Coverage& coverage() const { return coverage_; }

 private:
  enum class LockState { held, released, forgotten };
  struct Receipt {
    Lock lock;
    LockState state = LockState::held;
    NamespaceId space{};
    FlatIndex::Hold hold;
    Units inserted = 0;         ///< InsertFacts::inserted of the next insert below it
    std::uint64_t request = 0;  ///< 0: no match began it, and policies are not called for its end
    std::uint32_t kept = 0;     ///< times that it is kept
  };
  using Receipts = std::map<std::string, Receipt>;
  struct Sight {
    Found found;
    NamespaceId space{};
    Chain chain;
    bool gone = false;  ///< true if its last page has left the index since
  };
  using Brought = FlatIndex::PerGroup<std::vector<Page>>;

  Key key_of(const Operation& operation) const { return {operation.space, operation.words}; }
  Outcome run(const Operation& operation, std::size_t group);
  Outcome match(const Operation& operation);
  Outcome insert(const Operation& operation);
  Outcome insert_below(Receipt* below, const Operation& operation);
  Outcome insert_nowhere(const Operation& operation, const Lock& stale);
  Outcome release(const Operation& operation);
  class LeavingNodes;
  /// Evicts; from a tenant, at most `most` pages.
  Outcome evict(std::size_t group, std::size_t count, std::optional<TenantId> of = {},
                std::size_t most = std::numeric_limits<std::size_t>::max());
  Outcome assign(NamespaceId space, TenantId tenant);
  Outcome replace_policy(const Operation& operation, std::size_t group);
  Outcome keep_path(const std::string& name);
  Outcome unkeep_path(const std::string& name);
  Outcome flush(NamespaceId space);
  Outcome clear();
  Outcome peek(const Key& key);
  Outcome own(const Operation& operation, std::size_t group);
  Outcome find(const Operation& operation);
  Outcome hold(const Operation& operation);
  Outcome drop(const std::string& name);
  Outcome relax(const Operation& operation, std::size_t group);
  Outcome remap(std::size_t group, std::uint64_t count);
  Outcome state();

  std::string label(std::size_t group, const char* what) const;
  Units in_units(std::uint64_t units) const;  ///< in printed depths
  Units meant(std::uint64_t depth) const;     ///< in units
  /// Does nothing, or throws a Mismatch in a scenario.
  void no_such(const char* what, const std::string& name) const;
  Receipts::iterator receipt(const std::string& name);

  /// Returns pages of the group's allocator, evicting if there are too few; nothing if that is not enough.
  std::optional<std::vector<Page>> obtain(std::size_t group, std::size_t count);
  /// Returns pages for [below, end) of a chain in every group, 0 where the operation brings none.
  std::optional<Brought> obtain(const Operation& operation, std::size_t below, std::size_t end);
  void give_back(std::size_t group, std::span<const Page> pages);
  void give_back(const GroupPages& pages);
  void keep(const std::string& name, Receipt receipt);
  void let_go(Receipt& receipt, Ending ending);
  /// Undoes one keep of a lock. Returns the units.
  std::uint64_t undo_keep(Receipt& receipt);
  /// Returns true if some namespace was assigned to the tenant.
  bool has(TenantId tenant) const { return had_namespaces_.contains(tenant); }
  /// Returns the facts of a request that matches `key`, for the policies.
  RequestFacts facts_of(const Key& key);
  /// Compares the result of an eviction with the required order. Returns the number of nodes.
  std::uint64_t check_victims(std::size_t wanted, const std::vector<Page>& pages, std::optional<TenantId> of,
                              std::size_t most);
  /// Returns the node that waits with the least rank; nothing if a policy may change ranks during an eviction.
  std::optional<NodeId> first_victim(std::size_t group, std::optional<TenantId> of) const;
  /// Removes the pages that an eviction of a group took out of the index. Returns the group's pages of dead leaves.
  std::uint64_t take_out(const GroupPages& left, std::size_t group = 0);
  /// Marks found results that no longer exist. Call it when pages have left the model.
  void lose_sight();
  /// Compares a lock's state with the model, and adds it to the results of a scenario.
  void check_lock(const Receipt& receipt, Outcome& outcome);
  void check_sums();
  void check_whole();

  WorldConfig config_;
  std::vector<Part> parts_;
  std::shared_ptr<PrefixIndex> index_;
  TenantIndex* tenants_ = nullptr;  ///< may be null
  std::set<TenantId> had_namespaces_;
  bool remembers_ = true;  ///< false: an index that stores nothing, and all pages stay the caller's

  FlatIndex flat_;
  std::optional<VictimOrder> order_;  ///< for a single group with the whole path
  Receipts receipts_;
  std::map<std::string, Sight> sights_;
  std::uint64_t requests_ = 0;
  std::vector<std::uint64_t> prints_;
  std::map<std::string, std::pair<std::size_t, std::vector<Page>>> owned_;  ///< group index and pages
  Coverage coverage_;
};

}  // namespace canopy::test
