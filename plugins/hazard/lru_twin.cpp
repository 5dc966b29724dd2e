#include "lru_twin.h"

#include <algorithm>

namespace canopy::hazard {
namespace {

constexpr std::int64_t kMoreRoom = 32;  ///< lru gets more room: the pool's tokens divided by this

}  // namespace

std::int64_t LruTwin::step_of(double time) const {
  return std::clamp(static_cast<std::int64_t>(time / kStep), first(), now_);
}

/// Moves the ring on. A step that falls out adds its tokens to the next one, without those that were evicted.
void LruTwin::advance(double now) {
  const auto to = static_cast<std::int64_t>(now / kStep);
  if (to - now_ >= kSteps) {
    ring_.fill({});
    now_ = to, edge_ = first(), older_ = younger_ = 0;
    at(edge_).here = here_;
    return;
  }
  while (now_ < to) {
    const std::int64_t here = now_ + 1 < kSteps ? 0 : at(first()).here;
    at(++now_) = {};
    at(first()).here += here;
    if (edge_ < first()) edge_ = first(), younger_ -= at(edge_).evicted;
    else if (edge_ == first()) older_ = 0;
  }
}

void LruTwin::take(double last, std::int64_t tokens) {
  const std::int64_t step = step_of(last);
  tokens = std::min(tokens, at(step).here);
  at(step).here -= tokens;
  here_ -= tokens;
  if (step < edge_) older_ -= tokens;
}

void LruTwin::came(double now, std::int64_t tokens) {
  advance(now);
  at(now_).here += tokens;
  here_ += tokens;
}

void LruTwin::used(double last, double now, std::int64_t tokens) {
  advance(now);
  take(last, tokens);
  came(now, tokens);
}

void LruTwin::left(double last, double now, std::int64_t tokens, bool kept_by_lru) {
  advance(now);
  take(last, tokens);
  if (!kept_by_lru) return;
  const std::int64_t step = step_of(last);
  at(step).evicted += tokens;
  if (step > edge_) younger_ += tokens;
}

void LruTwin::returned(double last, std::int64_t tokens) {
  const std::int64_t step = step_of(last);
  tokens = std::min(tokens, at(step).evicted);
  at(step).evicted -= tokens;
  if (step > edge_) younger_ -= tokens;
}

LruTwin::Oldest LruTwin::oldest() {
  const auto less = [&](std::int64_t older, std::int64_t younger) { return (younger - older) * kMoreRoom > here_; };
  for (; edge_ < now_ && less(older_, younger_); younger_ -= at(edge_).evicted) older_ += at(edge_++).here;
  while (edge_ > first() && !less(older_ - at(edge_ - 1).here, younger_ + at(edge_).evicted)) {
    younger_ += at(edge_--).evicted;
    older_ -= at(edge_).here;
  }
  return {static_cast<double>(edge_) * kStep, static_cast<double>(edge_ + 1) * kStep};
}

}  // namespace canopy::hazard
