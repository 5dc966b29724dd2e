#include "tiers/fetch_flow.h"

#include <algorithm>
#include <utility>

namespace canopy {

FetchFlow::~FetchFlow() {
  for (const auto& fetch : on_way_) end(*fetch);
  while (!arrived_.empty()) end(*arrived_.back());
}

std::shared_ptr<FetchState> FetchFlow::fetch(const RequestSpec& spec) {
  if (requests_.refuses(spec, "Engine::fetch")) return nullptr;
  auto [key, facts] = requests_.arrival(spec, tier_.pages().prints_wanted());
  const Units here = device_.index->peek(key).length;
  const Lock found = look_up(key, facts);
  std::shared_ptr<FetchState> fetch;
  FetchOutcome outcome = FetchOutcome::nothing;
  if (found.length > here && found.length - here < tier_.config().least) {
    outcome = FetchOutcome::too_short;
  } else if (found.length > here) {
    fetch = on_way(spec, found.length);
    outcome = fetch ? FetchOutcome::joined : FetchOutcome::no_room;
    if (!fetch && (fetch = begin(spec, found)))
      outcome = fetch->until < found.length ? FetchOutcome::cut : FetchOutcome::whole;
  }
  ++device_.moved.fetches[static_cast<std::size_t>(outcome)];
  tier_.pages().settle(Operation::begin);
  return fetch;
}

/// Matches a prefix below, as any request does: so it stays recent there while the pools serve it.
Lock FetchFlow::look_up(const Key& key, RequestFacts& facts) {
  Lock found;
  {
    const IndexTimer timer(tier_.state());
    found = tier_.state().index->match(key, facts);
  }
  facts.matched = found.length;
  facts.ending = Ending::finished;
  tier_.pages().release(found, &facts);
  return found;
}

void FetchFlow::touch(const RequestSpec& spec) {
  auto [key, facts] = requests_.arrival(spec, tier_.pages().prints_wanted());
  look_up(key, facts);
  tier_.pages().settle(Operation::begin);
}

/// A fetch on its way that brings the same prefix.
std::shared_ptr<FetchState> FetchFlow::on_way(const RequestSpec& spec, Units units) const {
  const auto words = static_cast<std::ptrdiff_t>(units + device_.overlap);
  for (const auto& fetch : on_way_)
    if (fetch->request->space == spec.space && fetch->until >= units &&
        std::equal(spec.prompt.begin(), spec.prompt.begin() + words, fetch->request->tokens.begin()))
      return fetch;
  return nullptr;
}

/// Takes pages for what the pools lack of a prefix, and begins to fill them. Null if there is no room.
std::shared_ptr<FetchState> FetchFlow::begin(const RequestSpec& spec, const Lock& found) {
  auto fetch = std::make_shared<FetchState>();
  fetch->flow = this;
  fetch->source = tier_.state().index->hold(found.node);
  fetch->request = requests_.begin_fetch(spec, fetch->source.length);
  fetch->from = fetch->request->lock.length;
  // Copied, since making room above may call the index below.
  const GroupPages below = tier_.state().index->pages(fetch->source, std::min(fetch->from, fetch->source.length));
  for (std::size_t g = 0; g < device_.pools.size(); ++g) from_[g].assign(below[g].begin(), below[g].end());
  const std::size_t pages = requests_.reserve_fetch(*fetch->request, from_);
  fetch->until = fetch->from + static_cast<Units>(pages) * device_.page_size;
  if (pages == 0) {
    end(*fetch);
    return nullptr;
  }
  for (std::size_t g = 0; g < device_.pools.size(); ++g) {
    const std::vector<Page>& row = fetch->request->rows[g];
    to_[g].clear();
    for (std::size_t i = 0; i < pages; ++i)
      if (from_[g][i] != 0) to_[g].push_back(row[fetch->from / device_.page_size + i]);
    from_[g].resize(pages);
    std::erase(from_[g], Page{0});
  }
  const std::uint64_t loaded = device_.moved.loaded_bytes;
  fetch->ends_us = tier_.load(from_, to_, fetch->tickets);
  device_.moved.loading.add(fetch->bytes = device_.moved.loaded_bytes - loaded);
  device_.moved.loaded_tokens += fetch->until - fetch->from;
  pages_.digest().take(Digest::Step::fetch, fetch->from, fetch->until, fetch->ends_us);
  on_way_.push_back(fetch);
  pages_.settle(Operation::reserve);
  return fetch;
}

void FetchFlow::turn() {
  while (!on_way_.empty() && on_way_.front()->ends_us <= tier_.now_us()) {
    arrive(*on_way_.front());
    on_way_.pop_front();
  }
}

/// The bytes of a fetch are complete: its pages become the index's. The request stays, and holds them for its handles.
void FetchFlow::arrive(FetchState& fetch) {
  tier_.wait_for_loads(fetch.tickets);
  fetch.done = true;
  device_.moved.loading.take(fetch.bytes);
  requests_.commit_fetch(*fetch.request, fetch.until);
  tier_.pages().release(std::exchange(fetch.source, Lock{}), nullptr);
  tier_.pages().settle(Operation::release);
  if (fetch.handles > 0) arrived_.push_back(&fetch);
  else end(fetch);
}

void FetchFlow::credit(FetchState& fetch, Units matched) {
  if (!fetch.done || std::exchange(fetch.credited, true)) return;
  device_.counters.hit_tokens_host += std::min(std::max(matched, fetch.from), fetch.until) - fetch.from;
}

void FetchFlow::let_go(FetchState& fetch) {
  if (fetch.done) end(fetch);  // else its copy ends first
}

/// Gives back what a fetch holds.
void FetchFlow::end(FetchState& fetch) {
  fetch.flow = nullptr;
  std::erase(arrived_, &fetch);
  tier_.pages().release(std::exchange(fetch.source, Lock{}), nullptr);
  if (RequestState* const request = std::exchange(fetch.request, nullptr)) requests_.end_fetch(*request);
}

}  // namespace canopy
