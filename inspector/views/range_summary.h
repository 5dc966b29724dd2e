#pragma once

#include <cstdint>
#include <vector>

#include "scene.h"

namespace canopy::inspector {

/// Draws the figures of the selected range beside those of the whole time, and the prefixes that matter most. It fills
/// the panel SELECTED while nothing is selected.
class RangeSummary {
 public:
  void draw(Scene& scene);

 private:
  enum class List : std::uint8_t { hits, waste, regret };
  void draw_prefixes(Scene& scene);
  static void draw_figures(const Scene& scene);
  static void draw_reasons(const Scene& scene);

  List list_ = List::hits;
};

}  // namespace canopy::inspector
