#include <canopy/engine/request.h>

#include <cassert>

#include "request/request_flow.h"

namespace canopy {

std::uint64_t Request::id() const { return state_->id; }
std::span<const Token> Request::tokens() const { return state_->tokens; }
std::uint32_t Request::matched() const { return state_->matched; }
std::uint32_t Request::computed() const { return state_->computed; }
std::uint32_t Request::committed() const { return state_->flow->committed(*state_); }
std::uint32_t Request::reserved() const { return state_->flow->reserved(*state_); }
std::span<const Page> Request::row(std::size_t group) const { return state_->rows[group]; }
std::size_t Request::first_page(std::size_t group) const { return state_->first[group]; }
void Request::append(Token token) { state_->tokens.push_back(token); }

bool Request::reserve(std::uint32_t tokens, std::uint32_t soon) { return state_->flow->reserve(*state_, tokens, soon); }
void Request::advance(std::uint32_t tokens) { state_->flow->advance(*state_, tokens); }
void Request::retract() { state_->flow->retract(*state_); }
std::uint32_t Request::resume() { return state_->flow->resume(*state_); }

std::uint32_t Request::commit(std::uint32_t tokens) {
  const std::uint32_t had = state_->flow->insert(*state_, tokens, true);
  advance(tokens);
  return had;
}

void Request::finish(std::uint32_t tokens) {
  RequestState& ended = *std::exchange(state_, nullptr);
  ended.flow->finish(ended, tokens);
}

void Request::abort() {
  if (!state_) return;
  RequestState& ended = *std::exchange(state_, nullptr);
  ended.flow->abort(ended);
}

void Request::write(std::uint32_t layer, std::uint32_t first, std::uint32_t count, const Rows& from,
                    std::size_t group) {
  assert(first >= committed() && first + count <= state_->rows[group].size() * state_->flow->page_size());
  state_->flow->store(group)->write(layer, {state_->rows[group], first, count}, from);
}

void Request::read(std::uint32_t layer, std::uint32_t first, std::uint32_t count, const Rows& to,
                   std::size_t group) const {
  assert(first + count <= state_->rows[group].size() * state_->flow->page_size());
  state_->flow->store(group)->read(layer, {state_->rows[group], first, count}, to);
}

}  // namespace canopy
