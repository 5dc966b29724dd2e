#pragma once

#include <string>

namespace canopy::app {

/// Counts the events of a recorded stream, and prints the counts. Returns the exit code.
int count_events(const std::string& path);

}  // namespace canopy::app
