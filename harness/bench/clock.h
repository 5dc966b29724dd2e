#pragma once

#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

#include "bench.h"

namespace canopy::bench {

// Not Google Benchmark. It repeats one call until the time is known, but here each call changes the tree that the next
// one meets. The index, the floor and the original must take turns in one run, and a 99th percentile needs each call's
// own time.

inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// CPU seconds of this thread, or of all that works for the process (CLOCK_PROCESS_CPUTIME_ID). The time of other
/// programs is not in it; what they do to the caches is.
inline double cpu_now(clockid_t of = CLOCK_THREAD_CPUTIME_ID) {
  timespec spent{};
  ::clock_gettime(of, &spent);
  return static_cast<double>(spent.tv_sec) + 1e-9 * static_cast<double>(spent.tv_nsec);
}

/// How long `work` takes, in seconds.
template <class Work>
double seconds_of(Work&& work) {
  const double start = now();
  work();
  return now() - start;
}

/// One figure per repetition.
class Repeated {
 public:
  void add(double figure) { figures_.push_back(figure); }
  bool empty() const { return figures_.empty(); }
  /// REQUIRES: not empty.
  Spread spread(double times = 1) const {
    std::vector<double> sorted = figures_;
    std::sort(sorted.begin(), sorted.end());
    const std::size_t n = sorted.size();
    const double median = n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
    return {median * times, sorted.front() * times, sorted.back() * times};
  }
  std::optional<Spread> if_any(double times = 1) const {
    return empty() ? std::nullopt : std::optional<Spread>(spread(times));
  }

 private:
  std::vector<double> figures_;
};

}  // namespace canopy::bench
