// The kernel as the driver finds it. Its body is in attention.h, so that the CPU can run it too.

#include "attention.h"

extern "C" __global__ void __launch_bounds__(canopy::examples::kAttentionThreads)
    paged_attention(const __grid_constant__ canopy::examples::AttentionJob job) {
  canopy::examples::attention_thread(job, blockIdx.x * blockDim.x + threadIdx.x, gridDim.x * blockDim.x);
}
