#pragma once

#include <cstdint>
#include <vector>

#include <imgui.h>

#include "overview.h"
#include "panel.h"

namespace canopy::inspector {

/// Free, evictable, protected and owned pages over time, on one scale up to the highest limit; below them, the hit rate
/// and evictions.
class SizesPanel final : public Panel {
 public:
  void draw(Scene& scene) override;

  struct Chart {
    ImVec2 from, to;
  };
  const Chart& stack() const { return stack_; }  ///< chart as it was last drawn
  const std::vector<OverviewColumn>& columns() const { return columns_; }
  /// Returns the height of this many pages, in pixels.
  float height_of(std::uint64_t pages) const;

 private:
  static void draw_legend(bool from_events);
  void update(const Scene& scene, std::size_t most);
  void draw_axis(const Scene& scene, float left) const;
  void draw_stack() const;
  void draw_bars(float left) const;
  void draw_playhead(const Scene& scene, const Overview& overview) const;
  const OverviewColumn& draw_cursor(Scene& scene, const Overview& overview) const;
  void draw_times(const Overview& overview, float y) const;
  void draw_foot(const Scene& scene, const OverviewColumn& at, float width, bool hovered) const;

  std::uint64_t known_ = ~std::uint64_t{0};
  std::size_t group_ = 0, most_ = 0;
  std::vector<OverviewColumn> columns_;
  std::uint64_t top_ = 1;  ///< pages at the upper edge
  Chart stack_{}, bars_{};
};

/// Returns the pages at the upper edge of the chart: the largest size or limit so far.
std::uint64_t sizes_top(const std::vector<OverviewColumn>& columns);

}  // namespace canopy::inspector
