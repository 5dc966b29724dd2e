#pragma once

#include <imgui.h>

#include <array>
#include <string>
#include <vector>

#include "panel.h"
#include "sorted_table.h"
#include "tenant_shares.h"

namespace canopy::inspector {

/// The namespaces, with their figures in the range or of the whole time. A click shows only that namespace everywhere.
/// If tenants have shares: also these, and which paid for which.
class TenantsTab final : public Panel {
 public:
  void draw(Scene& scene) override;
  /// Rows as they were last drawn, from top to bottom.
  const std::vector<TenantFigures>& rows() const { return rows_; }
  TableOrder& order() { return order_; }
  /// Chooses between the shares and the figures of namespaces, if tenants have shares.
  void show_shares(bool shares) { shares_shown_ = shares; }
  const TenantShares& shares() const { return shares_; }

 private:
  void list(const Scene& scene);
  void draw_row(Scene& scene, const TenantFigures& tenant, std::uint64_t held) const;

  std::array<char, 64> find_{};
  std::string found_;
  TableOrder order_{2, true}, ordered_;
  std::uint64_t version_ = ~std::uint64_t{0};
  std::vector<TenantFigures> rows_;
  TenantShares shares_;
  bool shares_shown_ = true;
};

}  // namespace canopy::inspector
