#include <canopy/engine/fetch.h>

#include <utility>

#include "pages/entry.h"
#include "tiers/fetch_flow.h"

namespace canopy {

void Fetch::hold(std::shared_ptr<FetchState> state) {
  asked_ = true;
  state_ = std::move(state);
  if (state_) ++state_->handles;
}
Fetch& Fetch::operator=(Fetch&& other) noexcept {
  if (this != &other) {
    drop();
    state_ = std::move(other.state_);
    asked_ = other.asked_;
  }
  return *this;
}
Fetch::~Fetch() { drop(); }

void Fetch::drop() {
  const std::shared_ptr<FetchState> state = std::exchange(state_, nullptr);
  if (!state || --state->handles > 0 || !state->flow) return;
  const Entry entry(state->flow->state(), "Fetch::~Fetch");
  if (entry) state->flow->let_go(*state);
}

bool Fetch::done() const { return !state_ || state_->done || !state_->flow; }
std::uint32_t Fetch::tokens() const { return state_ ? state_->until - state_->from : 0; }
std::uint64_t Fetch::ends_us() const { return done() ? 0 : state_->flow->ends_us(*state_); }

}  // namespace canopy
