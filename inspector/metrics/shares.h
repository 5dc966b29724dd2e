#pragma once

#include <mirror/mirror.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "figures.h"

namespace canopy::metrics {

/// Figures of tenants with shares of the pools. At most `most` tenants have a row each: the largest when they are
/// chosen, and then always the same, so that a row's totals never fall. All others share one row. Totals are the
/// engine's own, since it began, and go on with the next engine.
class Shares {
 public:
  explicit Shares(std::size_t most) : most_(most) {}

  /// Chooses tenants while there are free rows. O(1) unless there are new tenants.
  void choose(const inspector::Mirror& mirror);
  /// Keeps the totals of an engine that has ended.
  void keep(const inspector::Mirror& mirror);
  /// Returns the rows, by name. Empty if no tenant has had a share. `mirror`: of the engine that is there; may be null
  /// (none). O(namespaces + tenants).
  std::vector<ShareFigures> figures(const inspector::Mirror* mirror) const;

 private:
  /// Totals of the engines that have ended.
  struct Kept {
    std::uint64_t evicted = 0, paid = 0, taken = 0, below_floor = 0;
  };
  Kept& kept(const std::string& tenant);

  std::size_t most_;
  std::map<std::string, Kept> chosen_;  ///< by name; an engine that starts again may number tenants differently
  Kept others_;
  bool any_other_ = false;
  std::size_t looked_at_ = 0;  ///< tenants of the engine from which rows were chosen
};

}  // namespace canopy::metrics
