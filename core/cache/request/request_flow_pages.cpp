// A row has two parts: the places before `own_from` belong to the index or are gone, and the request owns the pages
// from there on. `own_from` is the length of the lock in pages, in every group. A place without a page is 0.
// CacheState::owned counts the pages that all requests own, and CacheState::moving those that a copy fills for a fetch.

#include <algorithm>
#include <utility>

#include <cache/guard/index_port.h>

#include <cache/publish/publisher.h>
#include <cache/tenants/tenants.h>
#include "request_flow.h"

namespace canopy {

/// Returns true if the first `tokens` tokens exist and have pages, so that they can be computed.
bool RequestFlow::may_compute(const RequestState& request, const char* call, std::uint32_t tokens) {
  const std::uint32_t most = reserved(request);
  if (tokens <= most && tokens <= request.tokens.size()) return true;
  misused(request, Sentence("{} of {} tokens, but it has {}, and pages for {} of them", call, tokens,
                            request.tokens.size(), most));
  return false;
}

StorePort* RequestFlow::store_for(const RequestState& request, const char* call, std::uint32_t layer,
                                  std::uint32_t first, std::uint32_t count, std::size_t group, std::uint32_t least) {
  const auto refuse = [&](std::string_view why) {
    misused(request,
            Sentence("{} of {} rows from token {} on, layer {}, group {}: {}", call, count, first, layer, group, why));
    return nullptr;
  };
  if (group >= groups()) return refuse(Sentence("there are {} groups", groups()));
  StorePort* const store = state_.pools[group].store_port();
  if (!store) return refuse("the group has no store");
  if (layer >= store->view().layers) return refuse(Sentence("there are {} layers", store->view().layers));
  if (first < least) return refuse(Sentence("tokens before {} lie in pages of the index", least));
  const std::vector<Page>& row = request.rows[group];
  const std::uint64_t end = std::uint64_t{first} + count;
  for (std::uint64_t at = first / state_.page_size; at * state_.page_size < end; ++at)
    if (at >= row.size() || row[at] == 0)
      return refuse(Sentence("it has no page for token {}", std::max<std::uint64_t>(at * state_.page_size, first)));
  return store;
}

/// Takes memory for a row of `length` pages, and for the end of the request, which frees them.
void RequestFlow::make_room(std::vector<Page>& row, std::size_t length) {
  for (std::vector<Page>* const each : {&row, &scratch_})
    if (each->capacity() < length) each->reserve(std::max(length, 2 * each->capacity()));
}

/// Takes memory for rows of as many pages as a key may have in the index.
void RequestFlow::make_room(RequestState& request, const Key& key) {
  for (std::size_t g = 0; g < state_.pools.size(); ++g) make_room(request.rows[g], key.words.size() / state_.page_size);
}

/// Points a request's rows at the pages under its lock.
void RequestFlow::set_rows(RequestState& request) {
  const GroupPages resident = timed(state_, [&] { return state_.index->pages(request.lock); });
  if (resident[0].empty() && request.lock.length > 0)
    pages_.release(std::exchange(request.lock, Lock{}), request.space, nullptr);
  for (std::size_t g = 0; g < state_.pools.size(); ++g) {
    request.rows[g].assign(resident[g].begin(), resident[g].end());
    request.first[g] = request.lock.from[g] / state_.page_size;
  }
  request.own_from = request.lock.length / state_.page_size;
  request.matched = request.computed = request.lock.length;
  request.full_length = request.lock.full_length;
  request.inserted = 0;
}

void RequestFlow::append(RequestState& request, std::span<const Token> tokens) {
  if (tokens.size() > kMostTokens - std::min(kMostTokens, request.tokens.size()))
    return misused(request, Sentence("Request::append of {} tokens to {}: a request has at most {}", tokens.size(),
                                     request.tokens.size(), kMostTokens));
  request.tokens.insert(request.tokens.end(), tokens.begin(), tokens.end());
}

std::uint32_t RequestFlow::reserved(const RequestState& request) const {
  std::size_t pages = request.rows[0].size();
  for (std::size_t g = 1; g < state_.pools.size(); ++g) pages = std::min(pages, request.rows[g].size());
  return static_cast<std::uint32_t>(pages * state_.page_size);
}

bool RequestFlow::reserve(RequestState& request, std::uint32_t tokens, std::uint32_t soon) {
  if (request.stage == RequestState::Stage::retracted) {
    misused(request, "Request::reserve after Request::retract: it has to resume first");
    return false;
  }
  if (tokens > kMostTokens) {
    misused(request, Sentence("Request::reserve of {} tokens: a request has at most {}", tokens, kMostTokens));
    return false;
  }
  const std::size_t groups = state_.pools.size();
  std::array<std::size_t, kMaxGroups> had{}, length{}, more{};
  std::size_t pages = 0;
  for (std::size_t g = 0; g < groups; ++g) {
    const PageNeeds& needs = state_.pools[g].needs();
    had[g] = request.rows[g].size();
    length[g] = std::max(had[g], needs.row_length(needs.whole_path() ? tokens : std::min(tokens, soon)));
    pages += more[g] = needs.count(had[g], length[g]);
  }
  if (pages == 0) {
    if (request.admitted) return true;
    admit(request);
    pages_.end_operation(Operation::reserve);
    return true;
  }
  const auto make_free = [&] {
    bool fits = true;
    for (std::size_t g = 0; fits && g < groups; ++g) fits = pages_.may_be_free(g, more[g]);
    for (std::size_t g = 0; fits && g < groups; ++g) fits = pages_.make_free(g, more[g], request.space);
    return fits;
  };
  // Pages that the request retains for after its end may not keep it from running. They stay if that does not help.
  const auto helps = [&] {
    for (std::size_t g = 0; g < groups; ++g)
      if (!pages_.may_be_free(g, more[g] - std::min(more[g], retentions_.held_pages(request, g)))) return false;
    return true;
  };
  bool fits = make_free() || (helps() && retentions_.take_back(request) && make_free());
  std::size_t extended = 0;
  while (fits && extended < groups) {
    fits = extend(request, extended, length[extended]);
    extended += fits;
  }
  // The allocator counts a page as free but does not hand it out: return the pages of the other groups.
  for (std::size_t g = 0; !fits && g < extended; ++g) {
    free_owned(request, g, had[g], length[g], "a reservation that failed");
    request.rows[g].resize(had[g]);
  }
  if (fits && !request.admitted) admit(request);
  pages_.digest().take(Digest::Step::reserve, request.id, pages, fits);
  pages_.end_operation(Operation::reserve);
  return fits;
}

/// Extends the row of a group to `length` pages. Returns false, and changes nothing, if there are no pages.
bool RequestFlow::extend(RequestState& request, std::size_t group, std::size_t length) {
  std::vector<Page>& row = request.rows[group];
  Pool& pool = state_.pools[group];
  const PageNeeds& needs = pool.needs();
  const std::size_t had = row.size();
  if (length <= had) return true;
  make_room(row, length);
  scratch_.resize(needs.count(had, length));
  if (!pool.allocate(scratch_, request.id)) return false;
  state_.owned[group] += scratch_.size();
  row.resize(length);
  Publisher* const publisher = pages_.publisher();
  if (needs.every == 1) {
    std::copy(scratch_.begin(), scratch_.end(), row.begin() + static_cast<std::ptrdiff_t>(had));
    if (publisher) publisher->new_pages(request, group, had);
  } else {
    std::size_t next = 0;
    for (std::size_t i = had; i < length; ++i) row[i] = needs.keeps(i) ? scratch_[next++] : 0;
    if (publisher) publisher->own_pages(request, group, had);
  }
  return true;
}

/// Inserts pages. The owners of a row's pages change in this way:
///
///   before       | the index's, under the lock | owned by the request: `brought` .................... |
///                0                             before                                              until
///   the index    ...............................| has `had` of them already | takes the rest | refuses |
///   after        | the index's, under the deeper lock ........................................| owned  |
///                0                                                                           after
///
/// Pages brought for what the index already had are spare: they are freed, and the row names the index's pages instead.
/// REQUIRES: may_compute.
std::uint32_t RequestFlow::insert(RequestState& request, std::uint32_t tokens, bool chunked) {
  const auto words = words_of(request, tokens);
  const Units units = state_.whole_pages(tokens);
  // SGLang's accounting counts an insert even if it brings nothing, so only a shorter one is skipped.
  if (units < request.lock.length) return publish(request, RequestPhase::running), 0;
  const std::size_t before = request.own_from, until = units / state_.page_size;
  GroupPages brought;
  for (std::size_t g = 0; g < state_.pools.size(); ++g)
    brought[g] = std::span<const Page>(request.rows[g]).subspan(before, until - before);

  const Inserted inserted = timed(state_, [&] {
    return state_.index->insert(request.lock, {request.space, words}, brought,
                                {request.priority, chunked, request.id, request.inserted});
  });
  request.lock = inserted.lock;
  request.inserted = inserted.lock.length;
  pages_.digest().take(Digest::Step::commit, request.id, inserted.had, inserted.lock.length);
  const bool deeper = inserted.lock.length / state_.page_size > before;
  const auto replaced = static_cast<std::uint32_t>(deeper ? inserted.spare[0].size() * state_.page_size : 0);
  pages_.take_evicted(inserted.evicted, "commit");
  if (deeper) transfer_to_index(request, inserted, brought);
  // Behind the lock of the insert, and before those of promises and the end of an eviction for a ceiling.
  publish(request, RequestPhase::committed);
  if (!request.promises.empty()) retentions_.committed(request);
  if (TierListener* tier = pages_.tier(); tier && deeper && !request.fetches)
    tier->inserted({request.space, words.first(inserted.lock.length + state_.overlap)}, request.lock, request.priority);
  pages_.keep_ceiling(request.space);
  return replaced;
}

/// Transfers the pages up to the new lock's depth to the index.
void RequestFlow::transfer_to_index(RequestState& request, const Inserted& inserted, const GroupPages& brought) {
  const std::size_t before = request.own_from, after = inserted.lock.length / state_.page_size;
  for (std::size_t g = 0; g < state_.pools.size(); ++g) {
    const auto kept = brought[g].first(after - before);
    state_.owned[g] -= static_cast<std::uint64_t>(kept.end() - kept.begin() - std::count(kept.begin(), kept.end(), 0));
    state_.counters.repointed_pages += inserted.spare[g].size();
    pages_.digest().take(inserted.spare[g]);
  }
  pages_.free(inserted.spare, "commit");
  if (Publisher* publisher = pages_.publisher())
    for (std::size_t g = 0; g < state_.pools.size(); ++g) publisher->freed(g, inserted.spare[g]);
  if (inserted.had > before * state_.page_size) {
    IndexTimer timer(state_);
    const GroupPages now = state_.index->pages(request.lock, static_cast<Units>(before) * state_.page_size);
    for (std::size_t g = 0; g < state_.pools.size(); ++g) {
      const auto row = request.rows[g].begin() + static_cast<std::ptrdiff_t>(before);
      // Zeros if they cannot be listed: some of the former ones are free now.
      std::fill_n(row, after - before, Page{0});
      std::copy(now[g].begin(), now[g].end(), row);
    }
  }
  request.own_from = after;
  for (std::size_t g = 0; g < state_.pools.size(); ++g) {
    // A window may have moved past some of these pages before they were committed: the lock keeps none of them.
    if (const std::size_t gone = std::min(request.first[g], after); gone > before) {
      relax(request, g, gone);
      std::fill_n(request.rows[g].begin() + static_cast<std::ptrdiff_t>(before), gone - before, Page{0});
    }
    // The index keeps the pages before the lock's first depth, but not for this request.
    trim(request, g, request.lock.from[g] / state_.page_size);
  }
}

/// Relaxes the lock where it holds pages of a group before `page`.
void RequestFlow::relax(RequestState& request, std::size_t group, std::size_t page) {
  const auto from = static_cast<Units>(std::min(page, request.own_from) * state_.page_size);
  if (from <= request.lock.from[group]) return;
  drainer_.releasing(request.lock);
  IndexTimer timer(state_);
  state_.index->relax(request.lock, group, from);
  if (state_.tenants) state_.tenants->changed(request.space);
}

/// Removes the pages before `page` from a group's row: they are no longer needed.
void RequestFlow::trim(RequestState& request, std::size_t group, std::size_t page) {
  std::size_t& first = request.first[group];
  if (page <= first) return;
  relax(request, group, page);
  free_owned(request, group, first, page, "a window that moved on");
  std::vector<Page>& row = request.rows[group];
  std::fill(row.begin() + static_cast<std::ptrdiff_t>(first),
            row.begin() + static_cast<std::ptrdiff_t>(std::min(page, row.size())), 0);
  first = page;
}

/// Frees the pages that the request owns in [first, end) of a group's row.
void RequestFlow::free_owned(RequestState& request, std::size_t group, std::size_t first, std::size_t end,
                             const char* by) {
  std::vector<Page>& row = request.rows[group];
  scratch_.clear();
  for (std::size_t i = std::max(first, request.own_from); i < std::min(end, row.size()); ++i)
    if (const Page page = std::exchange(row[i], 0)) scratch_.push_back(page);
  state_.owned[group] -= scratch_.size();
  pages_.free(group, scratch_, by);
  if (Publisher* publisher = pages_.publisher()) publisher->freed(group, scratch_);
}

/// Releases the lock and all pages. Ending::none: a fetch, which policies do not see.
void RequestFlow::release_all(RequestState& request, Ending ending) {
  RequestFacts facts;
  if (ending != Ending::none) facts = facts_of(request, request.prompt, ending);
  retentions_.drop(request);
  drainer_.releasing(request);
  pages_.release(request.lock, request.space, ending == Ending::none ? nullptr : &facts);
  request.lock = {};
  for (std::size_t g = 0; g < state_.pools.size(); ++g) {
    free_owned(request, g, 0, request.rows[g].size(), "a request that ended or was retracted");
    request.rows[g].clear();
    request.first[g] = 0;
  }
  request.own_from = 0;
  pages_.keep_ceiling(request.space);
}

/// Moves the windows on to the computed tokens. Returns true if a group has a window.
bool RequestFlow::move_windows(RequestState& request) {
  bool any = false;
  for (std::size_t g = 0; g < state_.pools.size(); ++g) {
    const PageNeeds& needs = state_.pools[g].needs();
    if (needs.whole_path()) continue;
    trim(request, g, needs.first_needed(request.computed));
    any = true;
  }
  return any;
}

}  // namespace canopy
