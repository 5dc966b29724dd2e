#pragma once

#include <cstdint>

namespace canopy::inspector {

/// Returns the bytes of this process that are in memory; 0 if the system does not say.
std::uint64_t process_memory();

}  // namespace canopy::inspector
