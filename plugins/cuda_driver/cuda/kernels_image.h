#pragma once
/// The compiled kernels, for cuModuleLoadData.

#include <cstddef>

namespace canopy::cuda {

extern "C" {
/// A fat binary; aligned to 64 bytes.
extern const unsigned char canopy_kernels_image[];
/// Bytes; 0 if this build has no kernels.
extern const std::size_t canopy_kernels_image_size;
}

inline const unsigned char* kernels_image() { return canopy_kernels_image; }
inline std::size_t kernels_image_size() { return canopy_kernels_image_size; }

}  // namespace canopy::cuda
