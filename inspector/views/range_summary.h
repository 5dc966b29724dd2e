#pragma once

#include <cstdint>
#include <vector>

#include "scene.h"

namespace canopy::inspector {

/// Draws the figures of the selected range beside those of the whole time, the prefixes that matter most, and what
/// another pool would have brought. It fills the panel SELECTED while nothing is selected.
class RangeSummary {
 public:
  void draw(Scene& scene);

 private:
  enum class List : std::uint8_t { hits, waste, regret, what_if };
  void draw_lists(Scene& scene);
  void draw_prefixes(Scene& scene, const std::vector<PrefixFigure>& rows);
  static void draw_what_if(const Scene& scene);
  static void draw_figures(const Scene& scene);
  static void draw_reasons(const Scene& scene);

  List list_ = List::hits;
  bool what_if_beside_ = false;  ///< there is room for it beside the lists
};

}  // namespace canopy::inspector
