#include <canopy/engine/request.h>
#include <fmt/format.h>

#include <cstdio>

#include "pages/entry.h"
#include "request/request_flow.h"

namespace canopy {
namespace {

/// What a request without an engine points to.
RequestState& no_request() {
  static RequestState none;
  return none;
}

}  // namespace

Request::Request() : state_(&no_request()) {}

Request::~Request() {
  if (state_ == &no_request()) return;
  if (!state_->flow) {
    delete state_;
    return;
  }
  const Entry entry(state_->flow->state(), "Request::~Request");
  if (entry) state_->flow->let_go(*state_);
}

/// Calls serve(flow), unless the request or its engine has ended, or another call of the engine is running.
template <class Serve>
auto Request::serve(const char* call, Serve&& serve) const {
  using Answer = decltype(serve(*state_->flow));
  if (!state_->flow) {
    const std::string sentence = fmt::format(
        "canopy: {} was called on a request that has no engine: it was moved from, Engine::begin refused it, or its "
        "engine has ended\n",
        call);
    std::fputs(sentence.c_str(), stderr);
    return Answer();
  }
  const Entry entry(state_->flow->state(), call);
  if (!entry) return Answer();
  if (state_->stage == RequestState::Stage::ended) {
    state_->flow->misused(*state_, fmt::format("{} after its end", call));
    return Answer();
  }
  return serve(*state_->flow);
}

std::uint64_t Request::id() const { return state_->id; }
std::span<const Token> Request::tokens() const { return state_->tokens; }
std::uint32_t Request::matched() const { return state_->matched; }
std::uint32_t Request::full_length() const { return state_->full_length; }
std::uint32_t Request::computed() const { return state_->computed; }
bool Request::ended() const { return !state_->flow || state_->stage == RequestState::Stage::ended; }
std::uint32_t Request::committed() const { return ended() ? 0 : state_->flow->committed(*state_); }
std::uint32_t Request::reserved() const { return ended() ? 0 : state_->flow->reserved(*state_); }

std::span<const Page> Request::row(std::size_t group) const {
  if (!ended() && group < state_->flow->groups()) return state_->rows[group];
  return serve("Request::row", [&](RequestFlow& flow) {
    flow.misused(*state_, fmt::format("Request::row of group {} of {}", group, flow.groups()));
    return std::span<const Page>();
  });
}
std::size_t Request::first_page(std::size_t group) const {
  if (!ended() && group < state_->flow->groups()) return state_->first[group];
  return serve("Request::first_page", [&](RequestFlow& flow) {
    flow.misused(*state_, fmt::format("Request::first_page of group {} of {}", group, flow.groups()));
    return std::size_t{0};
  });
}

void Request::append(std::span<const Token> tokens) {
  serve("Request::append",
        [&](RequestFlow&) { state_->tokens.insert(state_->tokens.end(), tokens.begin(), tokens.end()); });
}
bool Request::reserve(std::uint32_t tokens, std::uint32_t soon) {
  return serve("Request::reserve", [&](RequestFlow& flow) { return flow.reserve(*state_, tokens, soon); });
}
void Request::advance(std::uint32_t tokens) {
  serve("Request::advance", [&](RequestFlow& flow) { flow.advance(*state_, tokens); });
}
std::uint32_t Request::commit(std::uint32_t tokens) {
  return serve("Request::commit", [&](RequestFlow& flow) { return flow.commit(*state_, tokens); });
}
std::uint32_t Request::rematch() {
  return serve("Request::rematch", [&](RequestFlow& flow) { return flow.rematch(*state_); });
}
void Request::finish(std::uint32_t tokens) {
  serve("Request::finish", [&](RequestFlow& flow) { flow.finish(*state_, tokens); });
}
void Request::abort() {
  if (!ended()) serve("Request::abort", [&](RequestFlow& flow) { flow.abort(*state_); });
}
void Request::retract() {
  serve("Request::retract", [&](RequestFlow& flow) { flow.retract(*state_); });
}
std::uint32_t Request::resume() {
  return serve("Request::resume", [&](RequestFlow& flow) { return flow.resume(*state_); });
}

void Request::write(std::uint32_t layer, std::uint32_t first, std::uint32_t count, const Rows& from,
                    std::size_t group) {
  serve("Request::write", [&](RequestFlow& flow) {
    if (KVStore* store = flow.store_for(*state_, "Request::write", layer, first, count, group, committed()))
      store->write(layer, {state_->rows[group], first, count}, from);
  });
}

void Request::read(std::uint32_t layer, std::uint32_t first, std::uint32_t count, const Rows& to,
                   std::size_t group) const {
  serve("Request::read", [&](RequestFlow& flow) {
    if (KVStore* store = flow.store_for(*state_, "Request::read", layer, first, count, group, 0))
      store->read(layer, {state_->rows[group], first, count}, to);
  });
}

}  // namespace canopy
