#pragma once

#include <mirror/mirror.h>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "figures.h"

namespace canopy::metrics {

/// Figures of tenants with shares of the pools. At most `most` tenants have a row each: the largest when they are
/// chosen, and then always the same, so that a row's totals never fall. All others share one row.
class Shares {
 public:
  explicit Shares(std::size_t most) : most_(most) {}

  /// Chooses tenants while there are free rows. O(namespaces + tenants).
  void choose(const inspector::Mirror& mirror);
  /// Returns the rows, by tenant's number. Empty if no tenant has a share. O(namespaces + tenants).
  std::vector<ShareFigures> figures(const inspector::Mirror& mirror) const;

 private:
  std::size_t most_;
  std::set<std::string> chosen_;  ///< names; an engine that starts again may number tenants differently
};

}  // namespace canopy::metrics
