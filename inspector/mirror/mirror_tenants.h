#pragma once

#include <canopy/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace canopy::inspector {

/// A tenant with a share of the pools, in tokens of the first group.
struct MirrorTenant {
  std::string name;  ///< "*": all tenants that are not named; empty: requests without a tenant
  std::uint64_t floor = 0, ceiling = kUnlimited;
  double weight = 1;
  std::uint64_t requests = 0, prompt_tokens = 0, hit_tokens = 0;  ///< since the mirror began
  // Since the engine began:
  std::uint64_t evicted = 0;      ///< tokens that left it
  std::uint64_t paid = 0;         ///< those of them that left for another tenant
  std::uint64_t taken = 0;        ///< tokens that left other tenants for this one
  std::uint64_t below_floor = 0;  ///< those of `evicted` that its floor protected

  /// Returns the name for people.
  std::string shown_name() const { return name.empty() ? "(no tenant)" : name == "*" ? "(all others)" : name; }
};

/// The tenants by number. Empty if none has a share.
struct MirrorTenants {
  std::vector<MirrorTenant> all;
  /// Tokens that left the first tenant for the second one. At most kMostPairs; later pairs are in `other_payments`, and
  /// so are payments that a keyframe does not distinguish.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> payments;
  std::uint64_t other_payments = 0;
  static constexpr std::size_t kMostPairs = 1024;

  /// Forgets the evictions: a keyframe reports them again.
  void forget_evictions() {
    for (MirrorTenant& tenant : all) tenant.evicted = tenant.paid = tenant.taken = tenant.below_floor = 0;
    payments.clear();
    other_payments = 0;
  }
};

/// Returns the share of each tenant in `pool` tokens: its floor and, by weight, its part of what the floors leave, at
/// most its ceiling. Only tenants that have something cached take part; the others' share is their floor. `cached`: by
/// tenant.
std::vector<double> shares_of(const MirrorTenants& tenants, const std::vector<std::uint64_t>& cached,
                              std::uint64_t pool);

}  // namespace canopy::inspector
