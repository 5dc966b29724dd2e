#include "lives.h"

#include <canopy/policy_facts.h>

#include <algorithm>

namespace canopy::hazard {

Life& Lives::begin(double now, ReuseTree::Group group, std::size_t strides, double tokens) {
  if (end_ - first_ == ring_.size()) {
    std::vector<Life> larger(ring_.size() * 2);
    for (Id id = first_; id < end_; ++id) larger[id & (larger.size() - 1)] = (*this)[id];
    ring_ = std::move(larger);
  }
  Life& life = (*this)[end_++];
  life = {.began = now, .tokens = static_cast<float>(tokens), .group = group};
  if (strides > 0) life.share = 1 / static_cast<float>(strides), life.left = 1;
  else life.bin = kBins;
  return life;
}

float Lives::stride_returned(Id id, double now) {
  Life& life = (*this)[id];
  if (life.left <= 0) return 0;
  count_until(bin_of(now - life.began), life);
  const float weight = std::min(life.share, life.left);
  if (life.bin < kBins) life.returning += weight;
  life.left -= weight;
  if (life.left < 1e-6F) life.left = 0;  // left by rounding
  const float tokens = life.left > 0 ? std::min(life.tokens, float{kPrintStride}) : life.tokens;
  life.tokens -= tokens;
  return tokens;
}

/// Counts the bins before `bin`, in which the life is now.
void Lives::count_until(std::size_t bin, Life& life) {
  if (life.bin >= bin) return;
  tree_.add(life.group, life.bin, bin, {life.returning, life.left});
  life.returning = 0;
  life.bin = static_cast<std::uint8_t>(life.left > 0 ? bin : kBins);  // nothing is left to count
}

void Lives::count(double now) {
  std::size_t bin = kBins;
  for (Id id = first_; id < end_; ++id) {
    Life& life = (*this)[id];
    while (now - life.began < kBinEdges[bin]) --bin;
    if (bin == kBins) first_ = id + 1;
    count_until(bin, life);
  }
}

}  // namespace canopy::hazard
