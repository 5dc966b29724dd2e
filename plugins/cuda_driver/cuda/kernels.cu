// The kernels under the names that the driver looks up. Their code is in kernels.h, so that the CPU can run it too.

#include "kernels.h"

namespace {

__device__ __forceinline__ canopy::cuda::Place here() {
  return {blockIdx.x, gridDim.x, blockIdx.y, gridDim.y, threadIdx.x, blockDim.x};
}

}  // namespace

#define CANOPY_KERNEL(name, Job, width)                                \
  extern "C" __global__ void __launch_bounds__(canopy::cuda::kThreads) \
      name##_##width(const __grid_constant__ canopy::cuda::Job job) {  \
    canopy::cuda::name<width>(job, here());                            \
  }
CANOPY_KERNELS(CANOPY_KERNEL)
