#include "lives.h"

#include <algorithm>

namespace canopy::hazard {

Lives::Id Lives::begin(double now, std::size_t of_class, std::size_t strides) {
  static_assert(kClasses <= 65536);
  if (end_ - first_ == ring_.size()) grow();
  at(end_) = {now, 1 / static_cast<float>(strides), 1, 0, static_cast<std::uint16_t>(of_class), 0};
  return end_++;
}

double Lives::stride_returned(Id id, double now, ReuseCounts& counts) {
  if (id < first_ || id >= end_) return -1;
  Life& life = at(id);
  const double age = now - life.began;
  if (age >= kBinEdges[kBins]) return -1;
  if (life.left <= 0) return life.began;
  count_until(bin_of(age), life, counts);
  const float weight = std::min(life.share, life.left);
  life.returning += weight;
  life.left -= weight;
  if (life.left < 1e-6F) life.left = 0;  // left by rounding
  return life.began;
}

void Lives::count_until(std::size_t bin, Life& life, ReuseCounts& counts) {
  if (life.bin >= bin) return;
  counts.add(life.of_class, life.bin, bin, {life.returning, life.left});
  life.returning = 0;
  life.bin = static_cast<std::uint16_t>(life.left > 0 ? bin : kBins);  // nothing is left to count
}

void Lives::count(double now, ReuseCounts& counts) {
  std::size_t bin = kBins;
  for (Id id = first_; id < end_; ++id) {
    Life& life = at(id);
    while (now - life.began < kBinEdges[bin]) --bin;
    if (bin == kBins) first_ = id + 1;
    count_until(bin, life, counts);
  }
}

void Lives::grow() {
  std::vector<Life> larger(ring_.size() * 2);
  for (Id id = first_; id < end_; ++id) larger[id & (larger.size() - 1)] = at(id);
  ring_ = std::move(larger);
}

}  // namespace canopy::hazard
