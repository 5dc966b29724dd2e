#include "reuse_counts.h"

namespace canopy::hazard {

void ReuseCounts::fade(double part) {
  for (const std::size_t k : known_)
    for (Reuse& count : classes_[k].by_age) count.returned *= part, count.survived *= part;
  changed_ = false;
}

double ReuseCounts::weight() const {
  double weight = 0;
  for (const std::size_t k : known_)
    for (const Reuse& count : classes_[k].by_age) weight += count.returned + count.survived;
  return weight;
}

}  // namespace canopy::hazard
