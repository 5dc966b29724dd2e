#pragma once

#include <canopy/base/result.h>

#include <string>
#include <variant>

#include "reuse_counts.h"

namespace canopy::hazard {

// A text file with the learned counts, so that a restarted engine does not begin as lru. It has a line with the
// dimensions, a line for each class (its number, then returned and survived weight for each bin), and a checksum over
// the whole file.

/// Adds the file's counts. On an error nothing is added, and the error message names file and line.
Result<std::monostate> load_counts(const std::string& path, ReuseCounts& counts);
/// Checks that `path` is missing, an empty file, or a file of counts. No other file is replaced.
Result<std::monostate> can_save_counts(const std::string& path);
/// Writes the whole file or nothing.
Result<std::monostate> save_counts(const std::string& path, const ReuseCounts& counts);

}  // namespace canopy::hazard
