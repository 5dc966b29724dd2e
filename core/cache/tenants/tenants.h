#pragma once

#include <canopy/base/result.h>
#include <canopy/engine/engine_config.h>
#include <canopy/engine/tenants.h>
#include <canopy/eviction_strategy.h>

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "losers.h"

namespace canopy {

struct CacheState;
class PolicyGuard;

/// The tenants of one cache: the namespaces of each, its share, what became of it, and the choice of the tenant that
/// loses pages. It decides from the sizes that the index counts for each tenant, and evicts nothing itself.
class Tenants {
 public:
  using Policies = std::vector<std::shared_ptr<PolicyGuard>>;  ///< one per group; empty: the groups' own

  /// `base`: units of the first group's pool that shares are in proportion to. `serves`: the cache of running requests,
  /// which must go on; where there are none, floors never give way. `kept_free`: part of each pool that is kept free,
  /// so that floors share the rest. REQUIRES: `state` outlives this object, and has its pools and an index with
  /// PrefixIndex::tenants before any other call.
  Tenants(const std::vector<TenantConfig>& config, CacheState& state, std::uint64_t base, bool serves,
          double kept_free);

  /// Makes a tenant of the configuration known to the index, with its policies. Call it once for each, in order.
  /// Returns false if the system has no memory.
  bool open(std::size_t number, Policies policies);
  /// Returns the tenant of a namespace. Assigns the namespace at the first call.
  TenantId of(NamespaceId space);
  /// Returns the number of a tenant with its own share; nothing if it has none and its namespaces none either.
  std::optional<TenantId> find(std::string_view name) const;
  /// Returns the reason why a tenant may not have this share, such as that all shares would promise more than the pool
  /// has. Empty if it may.
  std::string flaw_of_share(std::string_view name, const TenantShare& share) const;
  /// Takes the memory for a share of its own, which a tenant may not have yet. Returns false if the system has none.
  bool make_room(std::string_view name);
  /// Gives a tenant another share, or a share of its own. REQUIRES: flaw_of_share is empty; make_room.
  void set_share(std::string_view name, const TenantShare& share);
  const TenantShare& share(TenantId tenant) const { return at(tenant).figures.share; }

  /// Marks that an operation of a namespace may have made pages of its tenant resident or evictable.
  void changed(NamespaceId space);
  void changed(TenantId tenant);
  void all_changed();

  /// A tenant that loses pages of a group next.
  struct Loser {
    TenantId tenant{};
    std::uint64_t most = 0;        ///< pages that it may lose before the choice is made again
    bool floor_gives_way = false;  ///< its floor protects them, but nothing else may leave
  };
  /// Chooses the tenant that loses pages of a group so that `pages` more become free. `taker`: the tenant that needs
  /// them; nothing: none in particular. Returns nothing if no page may be evicted.
  ///   1. the taker, as far as it would exceed its ceiling
  ///   2. the tenant furthest above its weighted share, down to its floor
  ///   3. the taker, below its floor
  ///   4. the tenant that is furthest above its floor in proportion: floors give way, and it is counted
  std::optional<Loser> loser(std::size_t group, std::optional<TenantId> taker, std::uint64_t pages);
  /// Counts pages of the first group that left.
  void evicted(const Loser& loser, std::optional<TenantId> taker, std::uint64_t pages);
  /// Returns the pages of a group by which a tenant exceeds its ceiling.
  std::uint64_t above_ceiling(std::size_t group, TenantId tenant) const;
  /// Lets the index rank the nodes of a tenant again whose policy threw.
  void replace_failed_policies();
  /// Returns true if the policy of a tenant reads prefix prints.
  bool reads_prints() const;

  std::size_t size() const { return all_.size(); }
  /// Returns the figures of a tenant without what the index counts: cached and locked tokens are 0.
  const TenantUse& counted(TenantId tenant) const { return at(tenant).figures; }
  /// Returns the tokens that tenants paid for one another, by payer and taker, without those of other_payments().
  const std::map<std::pair<TenantId, TenantId>, std::uint64_t>& pairs() const { return payments_; }
  /// Tokens that a tenant paid or took, and that are in no pair.
  struct Unpaired {
    std::uint64_t paid = 0, taken = 0;
  };
  const Unpaired& unpaired(TenantId tenant) const { return at(tenant).unpaired; }

  /// Counts a request. `refused`: tokens whose retention was refused before.
  void admitted(NamespaceId space, std::uint32_t prompt, std::uint32_t hit, std::uint64_t refused);
  /// Counts tokens that retention begins or ceases to keep.
  void kept(TenantId tenant, std::int64_t tokens) { at(tenant).figures.kept += static_cast<std::uint64_t>(tokens); }
  std::uint64_t kept_tokens(TenantId tenant) const { return at(tenant).figures.kept; }
  void refused_pins(TenantId tenant, std::uint64_t tokens) { at(tenant).figures.refused_pins += tokens; }
  /// Returns how many tokens of a namespace may be put into the storage at `now_us`. A budget that was not used for a
  /// minute has the tokens of one minute.
  std::uint64_t may_put(NamespaceId space, std::uint64_t now_us);
  /// Charges tokens that are put, and counts those that were not put for lack of a budget. REQUIRES: may_put of `put`.
  void charge_puts(NamespaceId space, std::uint64_t put, std::uint64_t refused);
  /// Returns the figures of all tenants, by number.
  std::vector<TenantUse> figures() const;
  /// Returns what tenants paid for one another. Pairs after the first kMostPairs are one, from "*" to "*".
  std::vector<TenantPayment> payments() const;

 private:
  static constexpr std::size_t kMostPairs = 1024;
  struct Tenant {
    TenantUse figures;
    Unpaired unpaired;
    std::array<std::uint64_t, kMaxGroups> floor{}, ceiling{};  ///< units of each group
    Policies policies;
    std::uint64_t puts_left = kUnlimited;  ///< tokens of the budget of puts at `counted_us`
    std::uint64_t counted_us = 0;
  };
  Tenant& at(TenantId tenant) { return all_[static_cast<std::size_t>(tenant)]; }
  const Tenant& at(TenantId tenant) const { return all_[static_cast<std::size_t>(tenant)]; }
  TenantId add(std::string_view name, const TenantShare& share);
  void reserve();
  void set_units(Tenant& tenant);
  std::uint64_t floors_with(std::string_view name, const TenantShare& share) const;
  std::uint64_t held(std::size_t group, TenantId tenant) const;
  std::uint64_t floor(std::size_t group, const Tenant& tenant) const;
  double above(std::size_t group, TenantId tenant) const;
  double part_of_floor(std::size_t group, TenantId tenant) const;

  CacheState& state_;
  bool serves_;
  double kept_free_;
  std::array<double, kMaxGroups> part_{};  ///< units of each group for a token of a share
  TenantShare others_;                     ///< share of each tenant that is not named
  bool together_ = false;                  ///< these tenants are one
  std::vector<Tenant> all_;
  using Ids = std::map<std::string, TenantId, std::less<>>;
  Ids ids_;                 ///< tenants with a number of their own
  Ids::node_type spare_;    ///< entry for the tenant of the last make_room()
  std::string spare_name_;  ///< its name once more
  std::vector<std::optional<TenantId>> of_space_;
  std::vector<Losers> losers_;   ///< per group: tenants above their weighted share
  std::vector<Losers> floored_;  ///< per group: tenants with a floor, by how full it is
  std::uint64_t floors_ = 0;     ///< sum of all floors
  std::map<std::pair<TenantId, TenantId>, std::uint64_t> payments_;
  std::uint64_t other_payments_ = 0;
};

/// Returns the reason why a tenant may not have this share. Empty if it may.
std::string flaw_of(const TenantShare& share);

}  // namespace canopy
