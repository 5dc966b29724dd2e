#include "reuse_counts.h"

namespace canopy::hazard {

void ReuseCounts::fade(double part) {
  faded_ = 0;
  for (const std::size_t k : known_)
    for (Reuse& count : classes_[k].by_age) {
      count.returned *= part, count.survived *= part;
      faded_ += count.returned + count.survived;
    }
  added_ = 0;
}

}  // namespace canopy::hazard
