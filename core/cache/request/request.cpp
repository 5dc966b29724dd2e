#include <canopy/engine/request.h>
#include <cstdio>

#include <cache/pages/call_guard.h>
#include "request_flow.h"

namespace canopy {
namespace {

/// Returns the state of requests that have no engine.
RequestState& no_request() {
  static RequestState none;
  return none;
}

/// Returns a call of a function of the flow for this request.
template <class Function, class... Args>
auto on(Function function, RequestState& state, Args... args) {
  return [=, &state](RequestFlow& flow) { return (flow.*function)(state, args...); };
}

}  // namespace

Request::Request() : state_(&no_request()) {}

Request::~Request() {
  if (state_ == &no_request()) return;
  if (!state_->flow) {
    delete state_;
    return;
  }
  const CallGuard entered(state_->flow->state(), "Request::~Request");
  if (entered) state_->flow->destroy(*state_);
}

/// Calls call(flow), unless the request or its engine has ended, or another call of the engine is running.
template <class Call>
auto Request::guarded(const char* name, Call&& call) const {
  using Answer = decltype(call(*state_->flow));
  if (!state_->flow) {
    std::fprintf(
        stderr,
        "canopy: %s was called on a request that has no engine: it was moved from, Engine::begin refused it, or "
        "its engine has ended\n",
        name);
    return Answer();
  }
  const CallGuard entered(state_->flow->state(), name);
  if (!entered) return Answer();
  if (state_->stage == RequestState::Stage::ended) {
    state_->flow->misused(*state_, Sentence("{} after its end", name));
    return Answer();
  }
  return call(*state_->flow);
}

std::uint64_t Request::id() const { return state_->id; }
std::span<const Token> Request::tokens() const { return state_->tokens; }
std::uint32_t Request::matched() const { return state_->matched; }
std::uint32_t Request::full_length() const { return state_->full_length; }
std::uint32_t Request::computed() const { return state_->computed; }
std::uint32_t Request::retained() const { return state_->retained; }
bool Request::admitted() const { return state_->admitted; }
bool Request::ended() const { return !state_->flow || state_->stage == RequestState::Stage::ended; }
std::uint32_t Request::committed() const { return ended() ? 0 : state_->flow->committed(*state_); }
std::uint32_t Request::reserved() const { return ended() ? 0 : state_->flow->reserved(*state_); }

bool Request::has_group(const char* name, std::size_t group) const {
  if (!ended() && group < state_->flow->groups()) return true;
  guarded(name, [&](RequestFlow& flow) {
    flow.misused(*state_, Sentence("{} of group {} of {}", name, group, flow.groups()));
  });
  return false;
}
std::span<const Page> Request::row(std::size_t group) const {
  return has_group("Request::row", group) ? std::span<const Page>(state_->rows[group]) : std::span<const Page>();
}
std::size_t Request::first_page(std::size_t group) const {
  return has_group("Request::first_page", group) ? state_->first[group] : 0;
}

void Request::append(std::span<const Token> tokens) {
  guarded("Request::append", on(&RequestFlow::append, *state_, tokens));
}
bool Request::reserve(std::uint32_t tokens, std::uint32_t soon) {
  return guarded("Request::reserve", on(&RequestFlow::reserve, *state_, tokens, soon));
}
void Request::advance(std::uint32_t tokens) { guarded("Request::advance", on(&RequestFlow::advance, *state_, tokens)); }
std::uint32_t Request::commit(std::uint32_t tokens) {
  return guarded("Request::commit", on(&RequestFlow::commit, *state_, tokens));
}
std::uint32_t Request::rematch() { return guarded("Request::rematch", on(&RequestFlow::rematch, *state_)); }
void Request::finish(std::uint32_t tokens) { guarded("Request::finish", on(&RequestFlow::finish, *state_, tokens)); }
void Request::abort() {
  if (!ended()) guarded("Request::abort", [&](RequestFlow& flow) { flow.end(*state_, Ending::aborted); });
}
void Request::retract() { guarded("Request::retract", on(&RequestFlow::retract, *state_)); }
std::uint32_t Request::resume() { return guarded("Request::resume", on(&RequestFlow::resume, *state_)); }

void Request::write(std::uint32_t layer, std::uint32_t first, std::uint32_t count, const Rows& from,
                    std::size_t group) {
  guarded("Request::write", [&](RequestFlow& flow) {
    if (StorePort* store = flow.store_for(*state_, "Request::write", layer, first, count, group, committed()))
      store->call("write", &KVStore::write, layer, Slots{state_->rows[group], first, count}, from);
  });
}

void Request::read(std::uint32_t layer, std::uint32_t first, std::uint32_t count, const Rows& to,
                   std::size_t group) const {
  guarded("Request::read", [&](RequestFlow& flow) {
    if (StorePort* store = flow.store_for(*state_, "Request::read", layer, first, count, group, 0))
      store->call("read", &KVStore::read, layer, Slots{state_->rows[group], first, count}, to);
  });
}

}  // namespace canopy
