#include "caution.h"

#include <algorithm>
#include <cmath>

namespace canopy::hazard {
namespace {

constexpr double kYoung = 0.1, kUnproven = 0.5, kMost = 4;
constexpr double kProof = 0.01;  ///< share of the hits ahead of lru that divides caution by e
constexpr double kFewHits = 4;   ///< hits, in pools full of tokens: fewer prove little
constexpr double kTrial = 0.2;   ///< share of the pool's tokens that a trial may lose

}  // namespace

double Caution::of(double capacity, bool ripe) {
  if (!ripe) return kYoung;
  if (!tried_) tried_ = true, hits_ = 0, ahead_ = kTrial * capacity;
  return std::min(kMost, kUnproven * std::exp(-ahead_ / (kProof * (hits_ + kFewHits * capacity))));
}

}  // namespace canopy::hazard
