#include "stack.h"

#include <algorithm>

namespace canopy::lab {
namespace {

/// Units by the request that requested them last, with sums over the first requests (Fenwick 1994).
class Sums {
 public:
  explicit Sums(std::size_t size) : tree_(size + 1) {}
  void add(std::size_t at, std::uint64_t count) {
    for (++at; at < tree_.size(); at += at & (~at + 1)) tree_[at] += count;
  }
  /// Returns the units of the first `count` requests.
  std::uint64_t of(std::size_t count) const {
    std::uint64_t sum = 0;
    for (; count > 0; count &= count - 1) sum += tree_[count];
    return sum;
  }

 private:
  std::vector<std::uint64_t> tree_;  ///< modulo 2^64, so that a count can be subtracted
};

}  // namespace

Stack::Stack(const History& history) : history_(history) {
  Sums units(history.requests());
  std::uint64_t total = 0;
  for (std::uint32_t request = 0; request < history.requests(); ++request) {
    first_.push_back(before_.size());
    const auto reuses = history.reuses(request);
    // A request's units are preceded by all units of later requests. Of its own units, none above this reuse's first
    // remains: a later request would have requested it as well.
    for (const Reuse& reuse : reuses) before_.push_back(total - units.of(std::size_t{reuse.by} + 1));
    for (const Reuse& reuse : reuses) units.add(reuse.by, ~std::uint64_t{reuse.end - reuse.begin} + 1);
    units.add(request, history.units(request));
    total += history.units(request) - history.seen(request);
  }
}

Units Stack::hits(std::uint32_t request, std::uint64_t capacity) const {
  Units hits = 0;
  std::size_t at = first_[request];
  for (const Reuse& reuse : history_.reuses(request)) {
    const std::uint64_t before = before_[at++];
    if (before < capacity)
      hits += static_cast<Units>(std::min<std::uint64_t>(reuse.end - reuse.begin, capacity - before));
  }
  return hits;
}

}  // namespace canopy::lab
