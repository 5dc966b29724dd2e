#pragma once

#include <cstdint>

namespace canopy {

/// Counts since the engine was created, in tokens unless noted.
struct Counters {
  std::uint64_t requests = 0, prompt_tokens = 0, hit_tokens = 0;
  std::uint64_t evict_calls = 0, evicted_tokens = 0;  ///< first group only, also for room in another group
  std::uint64_t finished = 0, aborted = 0, retracted = 0;
  std::uint64_t repointed_pages = 0;               ///< pages replaced by ones that another request inserted first
  std::uint64_t resizes = 0, relocated_pages = 0;  ///< new limits of pools; pages relocated for them
  double index_seconds = 0;                        ///< seconds spent in match, pages, insert, relax, release and evict
};

}  // namespace canopy
