/// The kernel of the paged attention example, for the fake to run.
#include <paged_attention/attention.h>

#include "twins.h"

namespace {

using namespace canopy;

const fake_cuda::Twin attention = fake_cuda::twin(
    examples::kAttentionKernel, +[](const fake_cuda::Launch& launch, examples::AttentionJob job) {
      const std::uint32_t threads = launch.grid[0] * launch.block[0];
      for (std::uint32_t thread = 0; thread < threads; ++thread) examples::attention_thread(job, thread, threads);
    });
const fake_cuda::Listed listed(attention);

}  // namespace
