#include "caution.h"

#include <algorithm>
#include <cmath>

namespace canopy::hazard {
namespace {

constexpr double kYoung = 0.1, kUnproven = 0.5, kMost = 4;
constexpr double kProof = 0.01;  ///< of the hits ahead of lru: caution is a third
constexpr double kFewHits = 4;   ///< pools full of tokens: fewer hits prove little
constexpr double kTrial = 0.2;   ///< of the pool's tokens may be lost in a trial

}  // namespace

double Caution::of(double capacity, bool ripe) {
  if (!ripe) return kYoung;
  if (!tried_) tried_ = true, hits_ = 0, ahead_ = kTrial * capacity;
  return std::min(kMost, kUnproven * std::exp(-ahead_ / (kProof * (hits_ + kFewHits * capacity))));
}

}  // namespace canopy::hazard
