#pragma once

#include <canopy/base/result.h>

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "comparison.h"

namespace canopy::lab {

/// Returns a comparison as JSON (docs/lab.md has the fields). Unknown values are null.
nlohmann::ordered_json json_of(const Comparison& comparison);

/// Writes it to a file, completely or not at all.
Result<std::monostate> write_comparison(const Comparison& comparison, const std::string& path);

}  // namespace canopy::lab
