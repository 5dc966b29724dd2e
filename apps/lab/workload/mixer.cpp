#include "mixer.h"

#include <utility>

namespace canopy::workload {

Mixer::Mixer(const MixConfig& config, std::vector<MixItem> items)
    : config_(config), items_(std::move(items)), owed_(items_.size()), random_(decisions(derive(config.seed, 0))) {
  for (const MixItem& item : items_) shares_ += item.share;
}

Result<bool> Mixer::next(ClientRequest& request) {
  if (issued_ == config_.requests) return false;
  // Time passes within a burst, although all its requests have one arrival time, so the average rate is kept.
  const std::uint64_t mean_gap_ns = 1'000'000'000 / config_.arrivals_per_second;
  const std::uint64_t earlier_ns = now_ns_;
  now_ns_ += random_.remainder(2 * mean_gap_ns + 1);
  if (burst_) {
    ++owed_[current_];
  } else {
    draw();
    arrival_ms_ = earlier_ns / 1'000'000;
  }
  const MixItem& item = items_[current_];
  burst_ = item.traffic->next(request);
  request.arrival_ms = arrival_ms_;
  request.priority = item.priority;
  request.hints = item.hints;
  if (!item.space.empty()) request.space = request.space.empty() ? item.space : item.space + "/" + request.space;
  ++issued_;
  return true;
}

void Mixer::draw() {
  for (;;) {
    std::uint64_t at = random_.remainder(shares_);
    current_ = 0;
    while (at >= items_[current_].share) at -= items_[current_++].share;
    if (owed_[current_] == 0) return;
    --owed_[current_];
  }
}

}  // namespace canopy::workload
