#include "panels.h"

namespace canopy::inspector {

std::span<const PanelInfo> panels() {
#define CANOPY_ROW(NAME) NAME(),
  static const PanelInfo kPanels[] = {CANOPY_PANELS(CANOPY_ROW)};
#undef CANOPY_ROW
  return kPanels;
}

std::string_view figures_word(FiguresOf of, const Scene& scene) {
  const bool range = scene.figures.has_range();
  switch (of) {
    case FiguresOf::none:
      return "";
    case FiguresOf::moment:
      return "moment";
    case FiguresOf::until_here:
      return "until here";
    case FiguresOf::listed:
      return range ? "range" : "until here";
    case FiguresOf::selected:
      if (scene.selection.node != 0) return "moment";
      [[fallthrough]];
    case FiguresOf::past:
      return range ? "range" : "whole";
  }
  return "";
}

}  // namespace canopy::inspector
