#pragma once

#include <mirror/mirror.h>

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "figures.h"

namespace canopy::metrics {

/// Figures by namespace. The first `most` namespaces have a row each; all others share one row. A row belongs to a
/// name, even if a restarted engine numbers its namespaces differently.
class Tenants {
 public:
  static constexpr const char* kOthers = "(other)";

  explicit Tenants(std::size_t most) : most_(most) {}

  /// Records a namespace of this life of the feed. Call it as soon as the namespace is seen.
  void see(const inspector::Mirror& mirror, NamespaceId space);
  void count(const inspector::Mirror& mirror, const inspector::MirrorRequest& request);
  /// Forgets the numbers of namespaces, which are no longer valid.
  void forget_numbers();
  /// Returns the rows. `mirror` may be null (resident tokens are unknown); `tokens`: tokens of the whole tree.
  std::vector<TenantFigures> figures(const inspector::Mirror* mirror, std::uint64_t tokens) const;

 private:
  std::size_t row_of(const inspector::Mirror& mirror, NamespaceId space);

  std::size_t most_;
  std::vector<TenantFigures> rows_;  ///< rows of names
  TenantFigures others_{kOthers, 0, 0, 0, {}};
  bool shared_row_used_ = false;  ///< true if a namespace had no row of its own
  std::unordered_map<std::string, std::size_t> by_label_;
  std::unordered_map<std::uint32_t, std::size_t> by_number_;  ///< namespaces with a row
};

}  // namespace canopy::metrics
