#pragma once

#include <imgui.h>

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "evicted_for.h"
#include "inputs.h"
#include "list_table.h"
#include "panel.h"
#include "tenant_shares.h"

namespace canopy::inspector {

/// The namespaces, with their figures in the range or of the whole time, and what they have in the tree at the moment
/// that is shown. A click shows only that namespace everywhere. Also which lost tokens for which and, if tenants have
/// shares, these.
class TenantsTab final : public Panel {
 public:
  void draw(Scene& scene) override;
  /// Rows as they were last drawn, from top to bottom.
  const std::vector<TenantFigures>& rows() const { return rows_; }
  ListOrder& order() { return order_; }
  /// Chooses between the figures of namespaces, and the shares or, without shares, losses for other namespaces.
  void show_shares(bool shares) { shares_shown_ = shares; }
  const TenantShares& shares() const { return shares_; }
  const EvictedFor& paid() const { return paid_; }  ///< without shares

 private:
  listing::Listing<TenantFigures> columns(const Scene& scene) const;
  void list(const Scene& scene);
  void draw_choice(const char* other, const char* help);
  void draw_use(Scene& scene);

  std::array<char, 64> find_{};
  ListOrder order_{"prompt tokens"};
  Inputs<std::uint64_t, std::uint64_t, ListOrder, std::string> listed_;
  std::vector<TenantFigures> all_, rows_;
  std::uint64_t held_ = 0;  ///< tokens in the tree at the moment that is shown
  TenantShares shares_;
  EvictedFor paid_;
  std::optional<bool> shares_shown_;  ///< empty: the shares, if there are any
};

}  // namespace canopy::inspector
