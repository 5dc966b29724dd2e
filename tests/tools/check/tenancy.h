#pragma once

#include <canopy/engine/engine.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace canopy::check {

/// Checks the shares of an engine's tenants after each operation. The rules are those of TenantShare, in an engine with
/// one group: with several, pages leave a group because another one needs room. Does nothing in an engine without
/// tenants.
class Tenancy {
 public:
  explicit Tenancy(const Engine& engine);

  bool any() const { return !before_.empty(); }
  /// Returns true if a tenant has a ceiling, so that the end of a request may evict what it has left.
  bool any_ceiling() const;
  /// Returns true if retention keeps a prefix.
  bool keeps() const;
  /// Checks what an operation of a tenant did. `tenant`: nothing if it was no tenant's. `reserved`: it got pages for a
  /// request. `no_memory`: the pool was refused memory in it. Throws a test::Mismatch.
  void check(std::optional<std::string_view> tenant, bool reserved, bool no_memory);

 private:
  void check_sums(const std::vector<TenantUse>& now) const;
  const Engine& engine_;
  std::vector<TenantUse> before_;
  std::uint64_t limit_ = 0, offered_ = 0;  ///< pages before the operation: the pool's limit, and what it had
};

}  // namespace canopy::check
