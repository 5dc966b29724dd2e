#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "evicted_for.h"
#include "list_table.h"
#include "scene.h"

namespace canopy::inspector {

/// Shares of the pool by tenant at the shown moment: floor, ceiling, what it has, how far it is above its share or
/// below it; and which tenant lost tokens for which, in the range or since the engine began.
class TenantShares {
 public:
  struct Row {
    std::uint32_t tenant = 0;
    std::string name;
    ImU32 colour = 0;
    std::uint64_t cached = 0, floor = 0, ceiling = 0;
    double share = 0;  ///< see shares_of()
    std::uint64_t paid = 0, taken = 0, below_floor = 0;

    double above() const { return static_cast<double>(cached) - share; }  ///< negative: below its share
  };

  /// Draws the rest of the open tab, beginning in a line of widgets.
  void draw(Scene& scene);
  const std::vector<Row>& rows() const { return rows_; }                 ///< as they were last drawn
  const std::vector<PaidTokens>& paid() const { return paid_.pairs(); }  ///< most tokens first

 private:
  void list(const Scene& scene);
  void draw_bar(const Row& row) const;

  ListOrder order_{"cached"};
  Inputs<std::uint64_t, std::uint64_t, ListOrder> sorted_;
  std::vector<Row> rows_;
  EvictedFor paid_;
  double scale_ = 1;  ///< tokens of a whole bar
};

}  // namespace canopy::inspector
