#include "rank_meeting.h"

#include <algorithm>

namespace canopy {

RankMeeting::RankMeeting(std::size_t ranks) : ranks_(ranks, Rank(*this)) {}

const char* RankMeeting::bring(std::span<std::int64_t> values) {
  if (values.size() != Agreement::kValues) return "an exchange had another number of values";
  std::unique_lock lock(mutex_);
  if (left_) return "a rank has left";
  for (std::size_t i = 0; i < values.size(); ++i) least_[i] = came_ == 0 ? values[i] : std::min(least_[i], values[i]);
  if (++came_ == ranks_.size()) {
    agreed_ = least_;
    came_ = 0;
    ++exchanges_;
    all_came_.notify_all();
  } else {
    const std::uint64_t before = exchanges_;
    all_came_.wait(lock, [&] { return left_ || exchanges_ != before; });
    if (exchanges_ == before) return "a rank has left";
  }
  std::ranges::copy(agreed_, values.begin());
  return nullptr;
}

void RankMeeting::leave() {
  const std::scoped_lock lock(mutex_);
  left_ = true;
  all_came_.notify_all();
}

std::uint64_t RankMeeting::exchanges() const {
  const std::scoped_lock lock(mutex_);
  return exchanges_;
}

}  // namespace canopy
