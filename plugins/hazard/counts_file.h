#pragma once

#include <canopy/support/result.h>

#include <string>
#include <variant>

#include "reuse_counts.h"

namespace canopy::hazard {

// What was learned, in a file of text: so that an engine that starts anew need not begin as lru. A line with the shape,
// a line for each class (its number, then for each bin what returned and what survived), and a sum over all of it.

/// Adds the file's counts. On an error nothing was added; its sentence says file and line.
Result<std::monostate> load_counts(const std::string& path, ReuseCounts& counts);
/// Whether `path` can become such a file: nothing is there, or an empty file, or one of these. No other is replaced.
Result<std::monostate> can_save_counts(const std::string& path);
/// Writes all of it or nothing.
Result<std::monostate> save_counts(const std::string& path, const ReuseCounts& counts);

}  // namespace canopy::hazard
