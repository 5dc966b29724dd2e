#include <canopy/request.h>

#include <algorithm>
#include <cassert>

#include "engine_internals.h"

namespace canopy {

std::uint64_t Request::id() const { return state_->id; }
std::span<const Token> Request::tokens() const { return state_->tokens; }
std::uint32_t Request::matched() const { return state_->matched; }
std::uint32_t Request::committed() const {
  return static_cast<std::uint32_t>(state_->own_from * state_->engine->page_size_);
}
std::uint32_t Request::reserved() const {
  return static_cast<std::uint32_t>(state_->rows[0].size() * state_->engine->page_size_);
}
std::span<const Page> Request::row(std::size_t group) const { return state_->rows[group]; }
void Request::append(Token token) { state_->tokens.push_back(token); }

bool Request::reserve(std::uint32_t tokens) {
  Engine& engine = *state_->engine;
  const std::size_t pages = (std::size_t{tokens} + engine.page_size_ - 1) / engine.page_size_;
  const std::size_t had = state_->rows[0].size();
  if (pages <= had) return true;
  const std::size_t more = pages - had;
  bool fits = true;
  for (std::size_t g = 0; fits && g < engine.pools_.size(); ++g) fits = engine.make_free(g, more);
  for (std::size_t g = 0; fits && g < engine.pools_.size(); ++g)
    fits = engine.pools_[g].allocate(more, state_->id, state_->rows[g]);
  engine.digest_->take(Engine::Digest::Step::reserve, state_->id, more, fits);
  engine.settle("reserve");
  return fits;
}

void Request::write(std::uint32_t layer, std::uint32_t first, std::uint32_t count, const Rows& from,
                    std::size_t group) {
  assert(first >= committed() && first + count <= reserved());
  state_->engine->pools_[group].store()->write(layer, {state_->rows[group], first, count}, from);
}

void Request::read(std::uint32_t layer, std::uint32_t first, std::uint32_t count, const Rows& to,
                   std::size_t group) const {
  assert(first + count <= reserved());
  state_->engine->pools_[group].store()->read(layer, {state_->rows[group], first, count}, to);
}

std::uint32_t Request::commit(std::uint32_t tokens) { return insert(tokens, true); }

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
    inserted = engine.index_->insert(state_->lock, {state_->space, words}, brought, {state_->priority, chunked});
  }
  state_->lock = inserted.lock;
  engine.digest_->take(Engine::Digest::Step::commit, state_->id, inserted.had, inserted.lock.length);
  const std::size_t after = inserted.lock.length / engine.page_size_;
  // What the index did not keep is the request's own still: freed where the tree has other pages for these
  // tokens, and gone with the request where it has none (an index that remembers nothing).
  if (after > before) {
    for (std::size_t g = 0; g < engine.pools_.size(); ++g) {
      engine.counters_.repointed_pages += inserted.spare[g].size();
      engine.digest_->take(inserted.spare[g]);
    }
    engine.free(inserted.spare, "commit");
    if (inserted.had > before * engine.page_size_) {
      Engine::IndexTimer timer(engine);
      const GroupPages now = engine.index_->pages(state_->lock, static_cast<Units>(before) * engine.page_size_);
      for (std::size_t g = 0; g < engine.pools_.size(); ++g)
        std::copy(now[g].begin(), now[g].end(), state_->rows[g].begin() + static_cast<std::ptrdiff_t>(before));
    }
    state_->own_from = after;
  }
  engine.settle("insert");
  return after > before ? inserted.had - static_cast<std::uint32_t>(before) * engine.page_size_ : 0;
}

void Request::finish(std::uint32_t tokens) {
  if (tokens > 0) insert(tokens, false);
  Engine& engine = *state_->engine;
  ++engine.counters_.finished;
  const RequestFacts facts = engine.facts_of(*state_, std::span<const Token>(state_->tokens).first(state_->prompt));
  end(&facts);
}

void Request::abort() {
  if (!state_) return;
  ++state_->engine->counters_.aborted;
  end(nullptr);
}

void Request::end(const RequestFacts* finished) {
  Engine& engine = *state_->engine;
  {
    Engine::IndexTimer timer(engine);
    engine.index_->release(state_->lock, finished);
  }
  engine.digest_->take(Engine::Digest::Step::end, state_->id, finished != nullptr);
  for (std::size_t g = 0; g < engine.pools_.size(); ++g) {
    std::vector<Page>& row = state_->rows[g];
    engine.free(g, std::span<const Page>(row).subspan(state_->own_from), "a request that ended");
    row.clear();
  }
  state_->own_from = 0;
  state_->lock = {};
  engine.live_.back()->live_at = state_->live_at;
  engine.live_[state_->live_at] = engine.live_.back();
  engine.live_.pop_back();
  engine.idle_.emplace_back(std::exchange(state_, nullptr));
  engine.settle("release");
}

}  // namespace canopy
