#pragma once

#include <span>
#include <string>
#include <string_view>

namespace canopy {

/// The known name that is nearest to a mistyped one; empty if none is near.
std::string nearest_name(std::string_view typed, std::span<const std::string> known);

/// ". Did you mean 'x'?" if one is near, then "\n  known here: a b c".
std::string did_you_mean(std::string_view typed, std::span<const std::string> known);

}  // namespace canopy
