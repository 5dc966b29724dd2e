#pragma once

#include <canopy/support/result.h>

#include <string>

namespace canopy::redis {

/// The password of the servers, from an environment variable or the first line of a file. Empty if neither is named.
Result<std::string> read_password(const std::string& variable, const std::string& file);

}  // namespace canopy::redis
