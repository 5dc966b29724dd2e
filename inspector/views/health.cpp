#include "health.h"

#include <algorithm>
#include <vector>

namespace canopy::inspector {

Health health_of(const Mirror& mirror) {
  constexpr std::uint64_t kMinute = 60'000'000;
  Health health;
  const std::vector<Sample>& samples = mirror.samples();
  if (!samples.empty()) {
    const Sample& now = samples.back();
    const std::uint64_t since = now.us > kMinute ? now.us - kMinute : 0;
    const auto then = std::lower_bound(samples.begin(), samples.end(), since,
                                       [](const Sample& sample, std::uint64_t us) { return sample.us < us; });
    health.hit_tokens = now.hit_tokens - then->hit_tokens;
    health.prompt_tokens = now.prompt_tokens - then->prompt_tokens;
    health.span_us = now.us - then->us;
    if (health.span_us > 0) {
      const double seconds = static_cast<double>(health.span_us) / 1e6;
      health.evicted_per_second = static_cast<double>(now.evicted_tokens - then->evicted_tokens) / seconds;
      health.requests_per_second = static_cast<double>(now.requests - then->requests) / seconds;
    }
  }
  constexpr std::size_t kRecent = 1000;
  std::vector<std::uint64_t> took;
  for (auto at = mirror.requests().rbegin(); at != mirror.requests().rend() && took.size() < kRecent; ++at)
    if (at->admitted() && at->ended() && at->begun_us != 0 && at->ended_us != 0)
      took.push_back(at->ended_us - at->begun_us);
  if (!took.empty()) {
    const auto nth = [&](std::size_t percent) {
      const auto place = took.begin() + static_cast<std::ptrdiff_t>((took.size() - 1) * percent / 100);
      std::nth_element(took.begin(), place, took.end());
      return static_cast<double>(*place);
    };
    health.p50_us = nth(50);
    health.p99_us = nth(99);
  }
  return health;
}

}  // namespace canopy::inspector
