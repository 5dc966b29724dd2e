#include <canopy/wire/sequence.h>

#include <algorithm>

namespace canopy::wire {

Order SequenceWatch::see(std::uint64_t sequence, double time, bool clears) {
  if (!began_) {
    begin_at(sequence, time);
    return Order::first;
  }
  if (sequence >= next_) {
    const bool is_ahead = sequence > next_;
    if (is_ahead) {
      ++gaps;
      missing += sequence - next_;
      remember({next_, sequence});
    }
    next_ = sequence + 1;
    newest_time_ = std::max(newest_time_, time);
    return is_ahead ? Order::ahead : Order::next;
  }
  if (time > newest_time_ || (sequence == 0 && clears && time != first_time_)) {
    ++restarts;
    begin_at(sequence, time);
    return Order::restart;
  }
  if (fill(sequence)) {
    --missing, ++repaired;
    return Order::late;
  }
  ++repeated;
  return Order::repeated;
}

void SequenceWatch::begin_at(std::uint64_t sequence, double time) {
  began_ = true;
  next_ = sequence + 1;
  newest_time_ = first_time_ = time;
  gaps_.clear();
}

bool SequenceWatch::fill(std::uint64_t sequence) {
  const auto gap = std::find_if(gaps_.begin(), gaps_.end(),
                                [&](const Gap& each) { return each.begin <= sequence && sequence < each.end; });
  if (gap == gaps_.end()) return false;
  const Gap whole = *gap;
  gaps_.erase(gap);
  if (sequence + 1 < whole.end) remember({sequence + 1, whole.end});
  if (whole.begin < sequence) remember({whole.begin, sequence});
  return true;
}

/// The oldest makes room for it.
void SequenceWatch::remember(Gap gap) {
  if (gaps_.size() == kMostGaps) gaps_.erase(gaps_.begin());
  gaps_.push_back(gap);
}

}  // namespace canopy::wire
