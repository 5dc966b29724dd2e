#pragma once

#include <mirror/mirror.h>

#include <cstdint>

namespace canopy::inspector {

/// The figures of the health bar.
struct Health {
  std::uint64_t hit_tokens = 0, prompt_tokens = 0;  ///< of the last minute
  double evicted_per_second = 0;                    ///< tokens
  double requests_per_second = 0;
  double p50_us = -1, p99_us = -1;  ///< from begin to end of a request; < 0: none has ended
  std::uint64_t span_us = 0;        ///< that the rates are over; at most a minute
};
Health health_of(const Mirror& mirror);

}  // namespace canopy::inspector
