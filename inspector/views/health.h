#pragma once

#include <mirror/mirror.h>

#include <cstdint>

namespace canopy::inspector {

/// Figures of the health bar.
struct Health {
  std::uint64_t hit_tokens = 0, prompt_tokens = 0;  ///< tokens in the last minute
  double evicted_per_second = 0;                    ///< evicted tokens per second
  double requests_per_second = 0;
  double p50_us = -1, p99_us = -1;  ///< microseconds from the start to the end of a request; < 0: none has ended
  std::uint64_t span_us = 0;        ///< time over which the rates are taken; at most a minute
};
Health health_of(const Mirror& mirror);

}  // namespace canopy::inspector
