// The kernels as the driver finds them. What they do is in kernels.h, where the CPU can run it too.

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
