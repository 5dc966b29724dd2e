#include "lives.h"

#include <algorithm>

namespace canopy::hazard {

Lives::Id Lives::begin(double now, std::size_t of_class, std::size_t strides) {
  if (end_ - first_ == ring_.size()) grow();
  at(end_) = {now, static_cast<std::uint32_t>(of_class), 1 / static_cast<float>(strides), 1, 0};
  return end_++;
}

double Lives::stride_returned(Id id, double now) {
  if (id < first_ || id >= end_) return -1;
  Life& life = at(id);
  if (life.left <= 0 || now - life.began >= kBinEdges[kBins]) return life.began;
  const float weight = std::min(life.share, life.left);
  life.returning += weight;
  life.left -= weight;
  if (life.left < 1e-6F) life.left = 0;  // what rounding left
  return life.began;
}

void Lives::pass(double now, ReuseCounts& counts) {
  if (now <= passed_) return;
  passed_ = now;
  Life* const ring = ring_.data();
  const std::uint64_t mask = ring_.size() - 1;
  const Id end = end_;
  for (std::size_t bin = 0; bin < kBins; ++bin) {
    if (now < due_[bin]) continue;
    const double edge = kBinEdges[bin + 1];
    Id next = next_[bin];
    for (; next < end; ++next) {
      Life& life = ring[next & mask];
      if (now - life.began < edge) break;
      counts.add(life.of_class, bin, {life.returning, life.left});
      life.returning = 0;
    }
    next_[bin] = next;
    due_[bin] = (next < end ? ring[next & mask].began : now) + edge;
  }
  first_ = next_[kBins - 1];
}

void Lives::grow() {
  std::vector<Life> larger(ring_.size() * 2);
  for (Id id = first_; id < end_; ++id) larger[id & (larger.size() - 1)] = at(id);
  ring_ = std::move(larger);
}

}  // namespace canopy::hazard
