// FetchState::handles is the number of Fetch objects that share the state. A Fetch without a state is done. A Fetch may
// outlive its engine, so no function here uses FetchState::flow after the fetch has ended.

#include <canopy/engine/fetch.h>

#include <algorithm>
#include <utility>

#include <cache/pages/call_guard.h>
#include "fetch_flow.h"

namespace canopy {

void Fetch::hold(std::shared_ptr<FetchState> state, Units usable) {
  was_requested_ = true;
  state_ = std::move(state);
  if (!state_) return;
  ++state_->handles;
  usable_ = usable;
  called_us_ = state_->flow->now_us();
}
Fetch& Fetch::operator=(Fetch&& other) noexcept {
  if (this != &other) {
    drop();
    state_ = std::move(other.state_);
    was_requested_ = other.was_requested_;
    usable_ = other.usable_;
    called_us_ = other.called_us_;
  }
  return *this;
}

void Fetch::drop() {
  const std::shared_ptr<FetchState> state = std::exchange(state_, nullptr);
  if (!state || --state->handles > 0 || state->stage == FetchState::Stage::ended) return;
  const CallGuard entered(state->flow->state(), "Fetch::~Fetch");
  if (entered) state->flow->drop(*state);
  else state->flow->drop_later();
}

bool Fetch::done() const { return !state_ || state_->done(); }
std::uint32_t Fetch::tokens() const {
  return state_ ? std::min(state_->until, usable_) - std::min({state_->until, usable_, state_->from}) : 0;
}
std::uint64_t Fetch::took_us() const {
  if (!state_) return 0;
  const std::uint64_t end_us = state_->done() ? state_->ends_us : state_->flow->now_us();
  return end_us - std::min(end_us, called_us_);
}
bool Fetch::ready(std::uint64_t again_us) const { return ready_us(again_us) == 0; }
std::uint64_t Fetch::ready_us(std::uint64_t again_us) const {
  if (done()) return 0;
  const std::uint64_t now_us = state_->flow->now_us();
  const std::uint64_t begins_us = state_->flow->begins_us(*state_, usable_, called_us_, again_us);
  // A fetch from the storage has several steps. Each begins at the turn that processes the end of the one before.
  return begins_us <= now_us ? 0 : std::min(begins_us, std::max(ends_us(), now_us + 1));
}
std::uint64_t Fetch::ends_us() const { return done() ? 0 : state_->flow->ends_us(*state_); }

}  // namespace canopy
