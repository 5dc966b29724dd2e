#include "reuse_counts.h"

namespace canopy::hazard {

void ReuseCounts::add(std::size_t of_class, std::size_t bin, const Reuse& more) {
  Class& counts = classes_[of_class];
  if (!counts.known) {
    counts.known = true;
    known_.push_back(of_class);
  }
  counts.by_age[bin] += more;
  weight_ += more.returned + more.survived;
  added_ += more.returned + more.survived;
}

void ReuseCounts::fade(double part) {
  weight_ = 0;
  for (const std::size_t k : known_)
    for (Reuse& count : classes_[k].by_age) {
      count.returned *= part, count.survived *= part;
      weight_ += count.returned + count.survived;
    }
  added_ = 0;
}

}  // namespace canopy::hazard
