#pragma once

#include <canopy/support/result.h>

#include <string>

#include "comparison.h"

namespace canopy::lab {

/// Writes a comparison as JSON (docs/lab.md has the fields), all of it or nothing. What is not known is null.
Result<std::monostate> write_comparison(const Comparison& comparison, const std::string& path);

}  // namespace canopy::lab
