#pragma once

#include <nlohmann/json_fwd.hpp>

#include "comparison.h"

namespace canopy::lab {

/// A comparison as `canopy compare --json` writes it (docs/lab.md has the fields). What is not known is null.
nlohmann::ordered_json to_json(const Comparison& comparison);

}  // namespace canopy::lab
