#include "panels.h"

namespace canopy::inspector {

std::span<const PanelInfo> panels() {
#define CANOPY_ROW(NAME) NAME(),
  static const PanelInfo kPanels[] = {CANOPY_PANELS(CANOPY_ROW)};
#undef CANOPY_ROW
  return kPanels;
}

}  // namespace canopy::inspector
