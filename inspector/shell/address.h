#pragma once

#include <string>
#include <string_view>

#include "app.h"

namespace canopy::inspector {

/// Returns what is seen as text, for the address of a page: `key=value` joined by `&`, only what differs from the first
/// look. Keys: at (commit of a recording), range (commits FIRST-LAST), axis (what the time axis measures), time (window
/// FROM-TO of that axis), space (number of the namespace), node, request, group, tier, tab (in front), panel (that
/// fills the window), colour, tree.
std::string address_of(const App& app);
/// Shows what an address says, and everything that it does not name as at first. Skips keys and values that make no
/// sense.
void go_to(App& app, std::string_view address);

}  // namespace canopy::inspector
