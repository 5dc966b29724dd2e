#pragma once

#include <span>

#include "panel.h"

namespace canopy::inspector {

/// The table of all panels and tabs. Layout, drawing, keys, the sheet of keys and the lists in docs/inspector.md follow
/// it. To add one: a file in this folder that defines `PanelInfo NAME()`, and a line here. Within a row, panels stand
/// from left to right in this order.
#define CANOPY_PANELS(PANEL) \
  PANEL(header_bar)          \
  PANEL(health_bar)          \
  PANEL(tree_panel)          \
  PANEL(node_panel)          \
  PANEL(timeline_panel)      \
  PANEL(requests_panel)      \
  PANEL(pool_panel)          \
  PANEL(leave_panel)         \
  PANEL(events_tab)          \
  PANEL(tenants_tab)         \
  PANEL(locks_tab)           \
  PANEL(controls_tab)        \
  PANEL(plugins_tab)         \
  PANEL(config_tab)          \
  PANEL(compare_tab)         \
  PANEL(beside_panel)        \
  PANEL(histograms_panel)    \
  PANEL(notes_panel)         \
  PANEL(tiers_panel)         \
  PANEL(servers_tab)         \
  PANEL(time_bar)

#define CANOPY_DECLARE(NAME) PanelInfo NAME();
CANOPY_PANELS(CANOPY_DECLARE)
#undef CANOPY_DECLARE

std::span<const PanelInfo> panels();

}  // namespace canopy::inspector
