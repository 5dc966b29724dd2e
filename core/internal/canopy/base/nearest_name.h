#pragma once

#include <span>
#include <string>
#include <string_view>

namespace canopy {

/// Returns the known name that is nearest to a mistyped one. Empty if none is near.
std::string nearest_name(std::string_view typed, std::span<const std::string> known);

/// Returns the end of an error message: ". Did you mean 'x'?" if a name is near, then "\n  known here: a b c".
std::string did_you_mean(std::string_view typed, std::span<const std::string> known);

}  // namespace canopy
