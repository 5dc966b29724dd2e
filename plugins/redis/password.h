#pragma once

#include <canopy/base/result.h>

#include <string>

namespace canopy::redis {

/// Reads the password of the servers from an environment variable or the first line of a file. Returns an empty one if
/// neither is named.
Result<std::string> read_password(const std::string& variable, const std::string& file);

}  // namespace canopy::redis
