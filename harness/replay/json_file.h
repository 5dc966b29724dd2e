#pragma once

#include <canopy/support/result.h>

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace canopy::replay {

/// Writes `json` to `path`, all of it or nothing. Bytes that are not UTF-8 are replaced.
Result<std::monostate> write_json(const std::string& path, const nlohmann::ordered_json& json);

}  // namespace canopy::replay
