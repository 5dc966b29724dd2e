#pragma once

#include <optional>
#include <string>

namespace canopy::lab {

/// Returns Canopy's version, such as "0.2.0".
std::string version();
/// Returns the commit that was built, with "-dirty" if files differed from it; nothing if it was built without git.
std::optional<std::string> commit();

}  // namespace canopy::lab
