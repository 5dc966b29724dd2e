#pragma once

#include <shell/app.h>

#include <string>

namespace canopy::inspector {

/// Returns the main figures of what is shown, a line each: a key, a tab and a value.
std::string report_of(const App& app);

}  // namespace canopy::inspector
