#pragma once
/// Every kernel as a CPU function: the same thread body, run for one thread after another.

#include "kernels.h"

#include <cstddef>

namespace canopy::cuda {

struct Twin {
  const char* name;       ///< symbol in the image
  std::size_t job_bytes;  ///< bytes of its only parameter
  void (*run)(const void* job, std::uint32_t grid_x, std::uint32_t grid_y, std::uint32_t threads);
};

template <class Job, void (*kBody)(const Job&, const Place&)>
void run_on_cpu(const void* job, std::uint32_t grid_x, std::uint32_t grid_y, std::uint32_t threads) {
  for (std::uint32_t y = 0; y < grid_y; ++y)
    for (std::uint32_t x = 0; x < grid_x; ++x)
      for (std::uint32_t thread = 0; thread < threads; ++thread)
        kBody(*static_cast<const Job*>(job), {x, grid_x, y, grid_y, thread, threads});
}

inline constexpr Twin kTwins[] = {
#define CANOPY_TWIN(name, Job, width) {#name "_" #width, sizeof(Job), run_on_cpu<Job, &name<width>>},
    CANOPY_KERNELS(CANOPY_TWIN)
#undef CANOPY_TWIN
};

}  // namespace canopy::cuda
