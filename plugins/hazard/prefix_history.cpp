#include "prefix_history.h"

#include <bit>
#include <utility>

namespace canopy::hazard {

void PrefixHistory::promise(std::size_t count) {
  if (young_ + count > limit_) forget_old();
  if (const std::size_t size = (young_ + old_ + count) * 2; size > places_.size()) grow(std::bit_ceil(size));
}

/// Takes each entry out of the table and puts it back if it was young. Begins after a free place, so an entry's new
/// place is its old one or a free one before it.
void PrefixHistory::forget_old() {
  std::size_t free = 0;
  while (places_[free].count() != 0) ++free;
  for (std::size_t i = 1; i <= places_.size(); ++i) {
    Entry& place = places_[(free + i) & (places_.size() - 1)];
    if (place.count() == 0) continue;
    Entry entry = std::exchange(place, Entry{});
    if (entry.is_young()) entry.make_old(), place_of(entry.print()) = entry;
  }
  old_ = std::exchange(young_, 0);
}

void PrefixHistory::grow(std::size_t size) {
  const std::vector<Entry> before = std::exchange(places_, std::vector<Entry>(size));
  shift_ = 64 - std::countr_zero(size);
  for (const Entry& entry : before)
    if (entry.count() != 0) place_of(entry.print()) = entry;
}

}  // namespace canopy::hazard
