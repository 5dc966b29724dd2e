#include "optimum.h"

#include <algorithm>
#include <queue>
#include <tuple>

namespace canopy::lab {
namespace {

/// Units kept for request `until`, at these depths of it.
struct Kept {
  std::uint32_t since = 0, until = 0;
  Units begin = 0, length = 0;
};

}  // namespace

std::vector<Units> optimum(const History& history, std::uint64_t capacity) {
  std::vector<Kept> all;
  for (std::uint32_t request = 0; request < history.requests(); ++request)
    for (const Reuse& reuse : history.reuses(request))
      all.push_back({reuse.by, request, reuse.begin, reuse.end - reuse.begin});
  std::vector<std::uint32_t> by_start(all.size());
  for (std::uint32_t i = 0; i < by_start.size(); ++i) by_start[i] = i;
  std::sort(by_start.begin(), by_start.end(),
            [&](std::uint32_t a, std::uint32_t b) { return std::tie(all[a].since, a) < std::tie(all[b].since, b); });

  const auto is_needed_sooner = [&](std::uint32_t a, std::uint32_t b) {
    return std::tie(all[a].until, all[a].begin) < std::tie(all[b].until, all[b].begin);
  };
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, decltype(is_needed_sooner)> queue(is_needed_sooner);
  std::vector<Units> hits(history.requests());
  std::uint64_t held = 0;
  const auto drop_to = [&](std::uint64_t room) {
    while (held > room) {
      Kept& last = all[queue.top()];
      const std::uint64_t dropped = std::min<std::uint64_t>(last.length, held - room);
      last.length -= static_cast<Units>(dropped);
      held -= dropped;
      if (last.length == 0) queue.pop();
    }
  };
  std::size_t next_end = 0, next_start = 0;
  for (std::uint32_t request = 0; request < history.requests(); ++request) {
    for (; next_end < all.size() && all[next_end].until == request; ++next_end) {
      hits[request] += all[next_end].length;
      held -= all[next_end].length;
      all[next_end].length = 0;
    }
    // Intervals that have ended lie below those that others wait for, so `held` reaches the room before they come up.
    drop_to(capacity - std::min<std::uint64_t>(capacity, history.units(request)));
    for (; next_start < all.size() && all[by_start[next_start]].since == request; ++next_start) {
      queue.push(by_start[next_start]);
      held += all[by_start[next_start]].length;
    }
    drop_to(capacity);
  }
  return hits;
}

}  // namespace canopy::lab
