#pragma once

#include <mirror/mirror.h>

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "figures.h"

namespace canopy::metrics {

/// Figures by namespace for at most some of them: the first that are seen have a row each, all others share one. A row
/// stays with its name, also where an engine that comes back numbers its namespaces anew.
class Tenants {
 public:
  static constexpr const char* kOthers = "(other)";
  /// Of the namespace without a name.
  static constexpr const char* kShared = "(shared)";

  explicit Tenants(std::size_t most) : most_(most) {}

  /// A namespace of this life of the feed, told as soon as it is seen.
  void see(const inspector::Mirror& mirror, NamespaceId space);
  void count(const inspector::Mirror& mirror, const inspector::MirrorRequest& request);
  /// The numbers of namespaces mean nothing any more.
  void forget_numbers();
  /// `mirror`: null while what is resident is not known; `tokens` are then those of the whole tree.
  std::vector<TenantFigures> figures(const inspector::Mirror* mirror, std::uint64_t tokens) const;

 private:
  std::size_t row_of(const inspector::Mirror& mirror, NamespaceId space);

  std::size_t most_;
  std::vector<TenantFigures> rows_;  ///< of names
  TenantFigures others_{kOthers, 0, 0, 0, {}};
  bool shared_row_used_ = false;  ///< a namespace had no row of its own
  std::unordered_map<std::string, std::size_t> by_label_;
  std::unordered_map<std::uint32_t, std::size_t> by_number_;  ///< of namespaces with a row
};

}  // namespace canopy::metrics
