#pragma once

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "bench.h"

namespace canopy::bench {

inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Returns the CPU seconds of this thread, or of the whole process (CLOCK_PROCESS_CPUTIME_ID). They do not contain the
/// time of other programs, but their effect on the caches.
inline double cpu_now(clockid_t of = CLOCK_THREAD_CPUTIME_ID) {
  timespec spent{};
  ::clock_gettime(of, &spent);
  return static_cast<double>(spent.tv_sec) + 1e-9 * static_cast<double>(spent.tv_nsec);
}

/// Returns the seconds that `work` takes.
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
  /// Returns the median and the range of the figures, multiplied by `times`. REQUIRES: not empty.
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

/// The figures of a row of times: ours, the floor's and the original's, one for each repetition.
struct Measured {
  Repeated ours{}, floor{}, original{};
  Repeated& of(bool the_original) { return the_original ? original : ours; }
  Row row(std::string section, std::string name, std::string per, std::string note = {}) const {
    return {std::move(section), std::move(name),   Kind::time,     std::move(per), ours.if_any().value_or(Spread{}),
            floor.if_any(),     original.if_any(), std::move(note)};
  }
};

inline std::string power_of_ten(std::size_t count) { return fmt::format("10^{}", std::lround(std::log10(count))); }

}  // namespace canopy::bench
