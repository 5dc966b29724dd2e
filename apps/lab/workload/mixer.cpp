#include "mixer.h"

#include <algorithm>
#include <utility>

namespace canopy::workload {

Mixer::Mixer(const MixConfig& config, std::vector<MixItem> items)
    : config_(config), items_(std::move(items)), owed_(items_.size()), random_(decisions(derive(config.seed, 0))) {
  first_ms_ = items_.front().from_ms;
  for (const MixItem& item : items_) {
    shares_ += item.share;
    first_ms_ = std::min(first_ms_, item.from_ms);
  }
}

Result<bool> Mixer::next(ClientRequest& request) {
  if (issued_ == config_.requests) return false;
  // Time passes within a burst, although all its requests have one arrival time, so the average rate is kept.
  const std::uint64_t mean_gap_ns = 1'000'000'000 / config_.arrivals_per_second;
  if (now_ns_ / 1'000'000 < first_ms_) now_ns_ = first_ms_ * 1'000'000;
  for (bool drawn = false; !drawn;) {
    const std::uint64_t earlier_ms = now_ns_ / 1'000'000;
    now_ns_ += random_.remainder(2 * mean_gap_ns + 1);
    drawn = burst_ || draw(earlier_ms);
    if (burst_) ++owed_[current_];
    else arrival_ms_ = earlier_ms;
  }
  const MixItem& item = items_[current_];
  burst_ = item.traffic->next(request);
  request.arrival_ms = arrival_ms_;
  request.priority = item.priority;
  request.hints = item.hints;
  request.retention = item.retention;
  if (!item.space.empty()) request.space = request.space.empty() ? item.space : item.space + "/" + request.space;
  ++issued_;
  return true;
}

bool Mixer::draw(std::uint64_t now_ms) {
  for (;;) {
    std::uint64_t at = random_.remainder(shares_);
    current_ = 0;
    while (at >= items_[current_].share) at -= items_[current_++].share;
    if (items_[current_].from_ms > now_ms) return false;
    if (owed_[current_] == 0) return true;
    --owed_[current_];
  }
}

}  // namespace canopy::workload
