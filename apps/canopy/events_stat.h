#pragma once

#include <string>

namespace canopy::app {

/// Counts the events of a recorded stream, and prints the counts. Returns the exit code. `repeats_are_reports`: a block
/// that is stored while it is held for the same group and medium is no second copy, as in `canopy events attach`.
int count_events(const std::string& path, bool repeats_are_reports);

}  // namespace canopy::app
