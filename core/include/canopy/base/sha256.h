#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace canopy {

using Sha256 = std::array<std::uint8_t, 32>;

/// Returns the SHA-256 of the first text followed by the second.
Sha256 sha256(std::string_view first, std::string_view second = {});

}  // namespace canopy
