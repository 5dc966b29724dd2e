#include <canopy/engine/request.h>

#include <algorithm>
#include <cassert>

#include "engine_internals.h"

namespace canopy {

std::uint64_t Request::id() const { return state_->id; }
std::span<const Token> Request::tokens() const { return state_->tokens; }
std::uint32_t Request::matched() const { return state_->matched; }
std::uint32_t Request::computed() const { return state_->computed; }
std::uint32_t Request::committed() const {
  return static_cast<std::uint32_t>(state_->own_from * state_->engine->page_size_);
}
std::uint32_t Request::reserved() const {
  std::size_t pages = state_->rows[0].size();
  for (std::size_t g = 1; g < state_->engine->pools_.size(); ++g) pages = std::min(pages, state_->rows[g].size());
  return static_cast<std::uint32_t>(pages * state_->engine->page_size_);
}
std::span<const Page> Request::row(std::size_t group) const { return state_->rows[group]; }
std::size_t Request::first_page(std::size_t group) const { return state_->first[group]; }
void Request::append(Token token) { state_->tokens.push_back(token); }

bool Request::reserve(std::uint32_t tokens, std::uint32_t soon) {
  Engine& engine = *state_->engine;
  const std::size_t groups = engine.pools_.size();
  std::array<std::size_t, kMaxGroups> had{}, length{}, more{};
  std::size_t pages = 0;
  for (std::size_t g = 0; g < groups; ++g) {
    const PageNeeds& needs = engine.pools_[g].needs();
    had[g] = state_->rows[g].size();
    length[g] = std::max(had[g], needs.row_length(needs.whole_path() ? tokens : std::min(tokens, soon)));
    pages += more[g] = needs.count(had[g], length[g]);
  }
  if (pages == 0) return true;
  bool fits = true;
  for (std::size_t g = 0; fits && g < groups; ++g) fits = engine.may_be_free(g, more[g]);
  for (std::size_t g = 0; fits && g < groups; ++g) fits = engine.make_free(g, more[g]);
  std::size_t extended = 0;
  while (fits && extended < groups) {
    fits = engine.extend(*state_, extended, length[extended]);
    extended += fits;
  }
  // An allocator that counts a page as free and will not hand it out: what the others gave goes back.
  for (std::size_t g = 0; !fits && g < extended; ++g) {
    engine.free_own(*state_, g, had[g], length[g], "a reservation that failed");
    state_->rows[g].resize(had[g]);
  }
  engine.digest_->take(Engine::Digest::Step::reserve, state_->id, pages, fits);
  engine.settle(Operation::reserve);
  return fits;
}

void Request::write(std::uint32_t layer, std::uint32_t first, std::uint32_t count, const Rows& from,
                    std::size_t group) {
  assert(first >= committed() && first + count <= state_->rows[group].size() * state_->engine->page_size_);
  state_->engine->pools_[group].store()->write(layer, {state_->rows[group], first, count}, from);
}

void Request::read(std::uint32_t layer, std::uint32_t first, std::uint32_t count, const Rows& to,
                   std::size_t group) const {
  assert(first + count <= state_->rows[group].size() * state_->engine->page_size_);
  state_->engine->pools_[group].store()->read(layer, {state_->rows[group], first, count}, to);
}

void Request::advance(std::uint32_t tokens) {
  Engine& engine = *state_->engine;
  assert(tokens <= reserved() && tokens <= state_->tokens.size());
  state_->computed = std::max(state_->computed, tokens);
  bool any = false;
  for (std::size_t g = 0; g < engine.pools_.size(); ++g) {
    const PageNeeds& needs = engine.pools_[g].needs();
    if (needs.whole_path()) continue;
    engine.let_go_before(*state_, g, needs.first_needed(state_->computed));
    any = true;
  }
  engine.tell_moved(*state_, RequestPhase::running);
  if (any || engine.told()) engine.settle(Operation::advance);
  engine.go_on_draining();
}

std::uint32_t Request::commit(std::uint32_t tokens) {
  const std::uint32_t repointed = insert(tokens, true);
  advance(tokens);
  return repointed;
}

std::uint32_t Request::insert(std::uint32_t tokens, bool chunked) {
  Engine& engine = *state_->engine;
  assert(tokens <= reserved() && tokens <= state_->tokens.size());
  const auto words = engine.encode(std::span<const Token>(state_->tokens).first(tokens));
  const Units units = engine.units(tokens) / engine.page_size_ * engine.page_size_;
  // SGLang's accounting counts an insert even if it brings nothing, so only a shorter one is left out.
  if (units < state_->lock.length) return 0;
  const std::size_t before = state_->own_from, until = units / engine.page_size_;
  GroupPages brought;
  for (std::size_t g = 0; g < engine.pools_.size(); ++g)
    brought[g] = std::span<const Page>(state_->rows[g]).subspan(before, until - before);

  Inserted inserted;
  {
    Engine::IndexTimer timer(engine);
    if (engine.feed_) engine.feed_->brought_by(state_->id);
    inserted = engine.index_->insert(state_->lock, {state_->space, words}, brought, {state_->priority, chunked});
    if (engine.feed_) engine.feed_->brought_by(0);
  }
  state_->lock = inserted.lock;
  engine.digest_->take(Engine::Digest::Step::commit, state_->id, inserted.had, inserted.lock.length);
  const std::size_t after = inserted.lock.length / engine.page_size_;
  if (after > before) {
    for (std::size_t g = 0; g < engine.pools_.size(); ++g) {
      const auto kept = brought[g].first(after - before);
      engine.held_[g] -=
          static_cast<std::uint64_t>(kept.end() - kept.begin() - std::count(kept.begin(), kept.end(), 0));
      engine.counters_.repointed_pages += inserted.spare[g].size();
      engine.digest_->take(inserted.spare[g]);
    }
    engine.free(inserted.spare, "commit");
    for (std::size_t g = 0; g < engine.pools_.size(); ++g) engine.tell_freed(g, inserted.spare[g]);
    if (inserted.had > before * engine.page_size_) {
      Engine::IndexTimer timer(engine);
      const GroupPages now = engine.index_->pages(state_->lock, static_cast<Units>(before) * engine.page_size_);
      for (std::size_t g = 0; g < engine.pools_.size(); ++g)
        std::copy(now[g].begin(), now[g].end(), state_->rows[g].begin() + static_cast<std::ptrdiff_t>(before));
    }
    state_->own_from = after;
    // The tree keeps what lies before the lock's hold, but for nobody in particular.
    for (std::size_t g = 0; g < engine.pools_.size(); ++g)
      engine.let_go_before(*state_, g, state_->lock.from[g] / engine.page_size_);
  }
  engine.tell_moved(*state_, RequestPhase::committed);
  engine.settle(Operation::insert);
  return after > before ? inserted.had - static_cast<std::uint32_t>(before) * engine.page_size_ : 0;
}

void Request::finish(std::uint32_t tokens) {
  Engine& engine = *state_->engine;
  if (tokens > 0 && engine.insert_at_finish_) insert(tokens, false);
  ++engine.counters_.finished;
  const RequestFacts facts = engine.facts_of(*state_, std::span<const Token>(state_->tokens).first(state_->prompt));
  end(&facts);
}

void Request::abort() {
  if (!state_) return;
  ++state_->engine->counters_.aborted;
  end(nullptr);
}

void Request::retract() {
  Engine& engine = *state_->engine;
  ++engine.counters_.retracted;
  let_go(nullptr);
  state_->matched = state_->computed = 0;
  engine.tell_moved(*state_, RequestPhase::retracted);
  engine.digest_->take(Engine::Digest::Step::retract, state_->id, state_->tokens.size());
  engine.settle(Operation::retract);
  engine.go_on_draining();
}

std::uint32_t Request::resume() {
  Engine& engine = *state_->engine;
  assert(state_->rows[0].empty() && state_->lock.node == NodeId::none);
  engine.match(*state_);
  engine.tell_moved(*state_, RequestPhase::resumed);
  engine.digest_->take(Engine::Digest::Step::resume, state_->id, state_->tokens.size(), state_->matched);
  engine.settle(Operation::begin);
  return state_->matched;
}

/// Gives back the lock and all pages.
void Request::let_go(const RequestFacts* finished) {
  Engine& engine = *state_->engine;
  engine.note_leaving(*state_);
  {
    Engine::IndexTimer timer(engine);
    engine.index_->release(state_->lock, finished);
  }
  state_->lock = {};
  for (std::size_t g = 0; g < engine.pools_.size(); ++g) {
    engine.free_own(*state_, g, 0, state_->rows[g].size(), "a request that let go");
    state_->rows[g].clear();
    state_->first[g] = 0;
  }
  state_->own_from = 0;
}

void Request::end(const RequestFacts* finished) {
  Engine& engine = *state_->engine;
  let_go(finished);
  engine.tell_moved(*state_, finished ? RequestPhase::finished : RequestPhase::aborted);
  engine.digest_->take(Engine::Digest::Step::end, state_->id, finished != nullptr);
  engine.live_.back()->live_at = state_->live_at;
  engine.live_[state_->live_at] = engine.live_.back();
  engine.live_.pop_back();
  engine.idle_.emplace_back(std::exchange(state_, nullptr));
  engine.settle(Operation::release);
  engine.go_on_draining();
}

}  // namespace canopy
