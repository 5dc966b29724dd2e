/// The kernels of the CUDA store, for the fake to run.
#include <cuda/kernels_twin.h>

#include <deque>

#include "twins.h"

namespace {

using namespace canopy;

/// Kept by pointer, hence a deque: it does not move what it holds.
struct AllKernels {
  AllKernels() {
    for (const cuda::Twin& kernel : cuda::kTwins) {
      const auto run = [&kernel](const fake_cuda::Launch& launch, void* const* parameters) {
        kernel.run(parameters[0], launch.grid[0], launch.grid[1], launch.block[0]);
      };
      twins.push_back({kernel.name, {kernel.job_bytes}, run});
      listed.emplace_back(twins.back());
    }
  }
  std::deque<fake_cuda::Twin> twins;
  std::deque<fake_cuda::Listed> listed;
};
const AllKernels all;

}  // namespace
