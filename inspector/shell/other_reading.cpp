#include "other_reading.h"

#include <utility>

namespace canopy::inspector {

OtherReading::OtherReading(std::unique_ptr<Recording> recording, std::string name)
    : recording_(std::move(recording)), mirror_(recording_->header()) {
  past_->name = std::move(name);
}

bool OtherReading::read(std::chrono::milliseconds budget) {
  constexpr std::uint64_t kPart = 4096;
  const auto until = std::chrono::steady_clock::now() + budget;
  for (; at_ < recording_->commits(); at_ += kPart) {
    if (std::chrono::steady_clock::now() >= until) return false;
    mirror_.take(recording_->events(at_, at_ + kPart), past_->history.watch(mirror_));
  }
  past_->history.forget_mirror();
  past_->doubts = recording_->doubts_at_end();
  add_doubts(past_->doubts, mirror_.doubts());
  return true;
}

double OtherReading::done() const {
  return recording_->commits() == 0 ? 1 : static_cast<double>(at_) / static_cast<double>(recording_->commits());
}

}  // namespace canopy::inspector
