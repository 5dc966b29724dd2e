#pragma once

#include <string>

namespace canopy::app {

/// Counts what a recorded stream tells, and prints it. Returns the exit code.
int count_events(const std::string& path);

}  // namespace canopy::app
