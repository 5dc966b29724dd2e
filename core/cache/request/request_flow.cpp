// Each RequestState is in exactly one list: `live` until its request ends, `ended_` until the request is destroyed,
// then `idle`. Each list has room for all states, so the end of a request needs no memory.

#include "request_flow.h"

#include <canopy/helpers/prefix_print.h>

#include <algorithm>
#include <new>
#include <utility>

#include <cache/guard/index_port.h>
#include <cache/publish/publisher.h>
#include <cache/tenants/tenants.h>

namespace canopy {
RequestFlow::~RequestFlow() {
  // A request that outlives its engine is a bug of the caller. From now on it owns its memory.
  for (const auto* list : {&state_.live, &ended_})
    for (RequestState* request : *list) request->flow = nullptr;
}

void RequestFlow::misused(const RequestState& request, std::string_view how) {
  state_.ledger.violated(Sentence("request {}: {}", request.id, how));
}

/// Without memory a policy receives no prints.
template <class Words>
void RequestFlow::use_prints(RequestFacts& facts, Words&& words_of_prompt) try {
  prints_.clear();
  const std::span<const std::uint32_t> prompt = words_of_prompt();
  std::uint64_t print = first_print(facts.space);
  for (std::size_t end = kPrintStride; end <= prompt.size(); end += kPrintStride)
    prints_.push_back(print = next_print(print, prompt.data() + (end - kPrintStride)));
  facts.prefix_prints = prints_;
} catch (const std::bad_alloc&) {
  ++state_.lacked;
}

RequestFacts RequestFlow::facts_of(RequestState& request, std::size_t prompt, Ending ending) {
  RequestFacts facts;
  facts.space = request.space;
  facts.priority = request.priority;
  facts.prompt = request.prompt;
  facts.matched = request.matched;
  facts.output = static_cast<std::uint32_t>(request.tokens.size()) - request.prompt;
  facts.hints = request.hints;
  facts.id = request.id;
  facts.ending = ending;
  if (pages_.prints_wanted()) use_prints(facts, [&] { return words_of(request, prompt); });
  return facts;
}

std::int32_t RequestFlow::priority_of(const RequestSpec& spec) {
  std::int32_t priority = spec.priority;
  for (const Retention& retention : spec.retention) priority = std::max(priority, retention.priority);
  return priority;
}

/// Creates a state, and reserves room for it in every list that may contain it, so that the end of a request needs no
/// memory.
void RequestFlow::make_state() {
  const std::size_t all = state_.live.size() + ended_.size() + 1;
  const auto make_room = [&](auto& list) {
    if (list.capacity() < all) list.reserve(2 * all);
  };
  make_room(state_.live), make_room(ended_), make_room(state_.idle);
  state_.idle.push_back(std::make_unique<RequestState>());
}

RequestState* RequestFlow::begin(const RequestSpec& spec) {
  if (refuses(spec, "Engine::begin")) return nullptr;
  if (state_.tenants) state_.tenants->of(spec.space);  // nothing below may lack memory once there is a lock
  RequestState& request = make(spec, spec.prompt);
  try {
    match(request);
  } catch (...) {
    unmake(request);
    throw;
  }
  retentions_.begin(request, spec.retention);
  pages_.digest().take(Digest::Step::begin, request.id, request.prompt, request.matched);
  if (Publisher* publisher = pages_.publisher()) publisher->request_begun(request, request.lock.node);
  if (state_.stop.waiting())
    state_.stop.began(request.id, request.space, request.matched,
                      state_.whole_pages(request.prompt - std::min(request.prompt, request.min_uncached)));
  pages_.end_operation(Operation::begin);
  return &request;
}

/// Counts the request, with what its last match has found. REQUIRES: it is not admitted.
void RequestFlow::admit(RequestState& request) {
  request.admitted = true;
  const std::uint32_t hit = std::min(request.computed, request.prompt);
  ++state_.counters.requests;
  state_.counters.prompt_tokens += request.prompt;
  state_.counters.hit_tokens += hit;
  if (state_.tenants) state_.tenants->admitted(request.space, request.prompt, hit, request.refused);
  if (state_.stop.waiting()) state_.stop.admitted(request.prompt, hit);
  if (Publisher* publisher = pages_.publisher()) publisher->request_admitted(request, hit);
}

/// Returns a running request that has no lock yet.
RequestState& RequestFlow::make(const RequestSpec& spec, std::span<const Token> tokens) {
  if (state_.idle.empty()) make_state();
  RequestState& request = *state_.idle.back();
  request.tokens.assign(tokens.begin(), tokens.end());
  request.words.clear();
  state_.idle.back().release();
  state_.idle.pop_back();
  request.flow = this;
  request.stage = RequestState::Stage::running;
  request.id = next_request_++;
  request.live_at = state_.live.size();
  request.space = spec.space;
  request.priority = priority_of(spec);
  request.hints = spec.hints;
  request.prompt = static_cast<std::uint32_t>(tokens.size());
  request.min_uncached = spec.min_uncached;
  request.output_limit = spec.output_limit;
  request.chunk = spec.chunk;
  request.fetches = request.moving = request.admitted = false;
  request.retained = 0;
  request.refused = 0;
  state_.live.push_back(&request);
  return request;
}

/// Takes back a request that holds nothing and that no other part knows.
void RequestFlow::unmake(RequestState& request) {
  request.stage = RequestState::Stage::ended;
  take_out(state_.live, request);
  state_.idle.emplace_back(&request);
}

void RequestFlow::destroy(RequestState& request) {
  if (request.stage != RequestState::Stage::ended) end(request, Ending::aborted);
  take_out(ended_, request);
  state_.idle.emplace_back(&request);
}

/// Returns the part of a request's tokens that it may look up in the index.
Key RequestFlow::reusable_key(RequestState& request) {
  const std::size_t tokens = request.tokens.size();
  const Key usable{request.space, words_of(request, tokens - std::min<std::size_t>(tokens, request.min_uncached))};
  const std::uint64_t total = std::max<std::uint64_t>(tokens, std::uint64_t{request.prompt} + request.output_limit);
  return reusable(usable, tokens, total, request.chunk);
}

/// Finds and locks the resident part of a request's tokens that it can afford, and sets its rows. If memory runs out,
/// it holds nothing.
void RequestFlow::match(RequestState& request) {
  request.matched = 0;
  const RequestFacts facts = facts_of(request, request.tokens.size(), Ending::none);
  const Key key = reusable_key(request);
  make_room(request, key);
  request.lock = timed(state_, [&] { return state_.index->match(key, facts); });
  set_rows(request);
}

void RequestFlow::advance(RequestState& request, std::uint32_t tokens) {
  if (!may_compute(request, "Request::advance", tokens)) return;
  if (tokens > 0 && !request.admitted) admit(request);
  request.computed = std::max(request.computed, tokens);
  const bool any = move_windows(request);
  publish(request, RequestPhase::running);
  if (any || (pages_.publisher() && pages_.publisher()->on())) pages_.end_operation(Operation::advance);
  drainer_.go_on();
}

std::uint32_t RequestFlow::commit(RequestState& request, std::uint32_t tokens) {
  if (!may_compute(request, "Request::commit", tokens)) return 0;
  if (tokens > 0 && !request.admitted) admit(request);
  request.computed = std::max(request.computed, tokens);
  const std::uint32_t had = insert(request, tokens, true);
  move_windows(request);
  pages_.end_operation(Operation::insert);
  drainer_.go_on();
  return had;
}

std::uint32_t RequestFlow::rematch(RequestState& request) {
  if (request.stage == RequestState::Stage::retracted) {
    misused(request, "Request::rematch after Request::retract: it has to resume first");
    return 0;
  }
  const Key key = reusable_key(request);
  Found found;
  Lock deeper;
  {
    IndexTimer timer(state_);
    if (state_.index->peek(key).length <= request.computed) return 0;
    make_room(request, key);
    found = state_.index->find(key);
    deeper = state_.index->hold(found.node);
  }
  // There was no memory for a split, or the index contradicts itself.
  if (deeper.length != found.length || deeper.length <= request.computed) {
    pages_.release(deeper, request.space, nullptr);
    return 0;
  }
  const std::size_t until = deeper.length / state_.page_size;
  drainer_.releasing(request);
  for (std::size_t g = 0; g < state_.pools.size(); ++g) free_owned(request, g, 0, until, "a rematch");
  pages_.release(request.lock, request.space, nullptr);
  request.lock = deeper;
  request.own_from = until;
  const GroupPages resident = timed(state_, [&] { return state_.index->pages(deeper); });
  for (std::size_t g = 0; g < state_.pools.size(); ++g) {
    std::vector<Page>& row = request.rows[g];
    row.resize(std::max(row.size(), until));
    std::fill_n(row.begin(), until, Page{0});  // if they cannot be listed: the former ones are free now
    std::copy(resident[g].begin(), resident[g].end(), row.begin());
    request.first[g] = deeper.from[g] / state_.page_size;
  }
  const std::uint32_t gained = deeper.length - request.computed;
  // As in admit(), only tokens of the prompt are hits: those of the answer are in no sum of prompts.
  if (request.admitted)
    state_.counters.hit_tokens += std::min(deeper.length, request.prompt) - std::min(request.computed, request.prompt);
  request.computed = deeper.length;
  publish(request, RequestPhase::running);
  if (!request.promises.empty()) retentions_.committed(request);  // as after a match
  pages_.digest().take(Digest::Step::rematch, request.id, gained, deeper.length);
  pages_.end_operation(Operation::begin);
  drainer_.go_on();
  return gained;
}

void RequestFlow::retract(RequestState& request) {
  if (request.stage == RequestState::Stage::retracted) return misused(request, "Request::retract twice");
  request.stage = RequestState::Stage::retracted;
  ++state_.counters.retracted;
  release_all(request, Ending::retracted);
  request.matched = request.computed = request.retained = 0;
  publish(request, RequestPhase::retracted);
  pages_.digest().take(Digest::Step::retract, request.id, request.tokens.size());
  pages_.end_operation(Operation::retract);
  drainer_.go_on();
}

std::uint32_t RequestFlow::resume(RequestState& request) {
  if (request.stage != RequestState::Stage::retracted) {
    misused(request, "Request::resume, but it was not retracted");
    return request.matched;
  }
  match(request);
  request.stage = RequestState::Stage::running;
  publish(request, RequestPhase::resumed);
  pages_.digest().take(Digest::Step::resume, request.id, request.tokens.size(), request.matched);
  pages_.end_operation(Operation::begin);
  return request.matched;
}

void RequestFlow::finish(RequestState& request, std::uint32_t tokens) {
  try {
    if (tokens > 0 && may_compute(request, "Request::finish", tokens)) {
      if (!request.admitted) admit(request);
      if (insert_at_finish_) insert(request, tokens, false);
    }
  } catch (const std::bad_alloc&) {  // the key found no memory: the request ends and leaves less
    ++state_.lacked;
  }
  end(request, Ending::finished);
}

void RequestFlow::end(RequestState& request, Ending ending) {
  const bool finished = ending == Ending::finished, fetch = ending == Ending::none;
  Counters& counters = state_.counters;
  if (!fetch) ++(!request.admitted ? counters.tries : finished ? counters.finished : counters.aborted);
  if (finished) retentions_.finish(request);
  // Policies got the end of a retracted request when it was retracted.
  release_all(request, request.stage == RequestState::Stage::retracted ? Ending::none : ending);
  publish(request, finished || fetch ? RequestPhase::finished : RequestPhase::aborted);
  if (!fetch) pages_.digest().take(Digest::Step::end, request.id, finished);
  request.stage = RequestState::Stage::ended;
  take_out(state_.live, request);
  request.live_at = ended_.size();
  ended_.push_back(&request);
  pages_.end_operation(Operation::release);
  drainer_.go_on();
}

void RequestFlow::publish(const RequestState& request, RequestPhase phase) {
  if (Publisher* publisher = pages_.publisher()) publisher->progress(request, phase);
}

// ---- Fetches ----

RequestFlow::Arrival RequestFlow::arrival(const RequestSpec& spec, bool prints_wanted) {
  Arrival arrival;
  RequestFacts& facts = arrival.facts;
  facts.space = spec.space;
  facts.priority = priority_of(spec);
  facts.prompt = static_cast<std::uint32_t>(spec.prompt.size());
  facts.hints = spec.hints;
  facts.id = next_request_++;
  if (prints_wanted) use_prints(facts, [&] { return words_of(spec); });
  arrival.key = reusable_key(spec);
  return arrival;
}

RequestState* RequestFlow::begin_fetch(const RequestSpec& spec, Units units) {
  RequestState& request = make(spec, spec.prompt.first(units + state_.overlap));
  request.fetches = true;
  Key key{.space = spec.space, .words = {}};
  try {
    key.words = words_of(request, request.tokens.size());
    make_room(request, key);
  } catch (...) {
    unmake(request);
    throw;
  }
  request.lock = timed(state_, [&] { return state_.index->hold(state_.index->find(key).node); });
  set_rows(request);
  if (Publisher* publisher = pages_.publisher()) publisher->request_begun(request);
  pages_.end_operation(Operation::begin);
  return &request;
}

std::size_t RequestFlow::reserve_fetch(RequestState& request, std::span<const std::vector<Page>> from) {
  const std::size_t groups = state_.pools.size(), first = request.own_from;
  std::size_t count = from[0].size();
  const auto wanted = [&](std::size_t group) {
    const auto end = from[group].begin() + static_cast<std::ptrdiff_t>(count);
    return static_cast<std::size_t>(end - from[group].begin() - std::count(from[group].begin(), end, Page{0}));
  };
  const bool may_cut =
      std::all_of(state_.pools.begin(), state_.pools.end(), [](const Pool& pool) { return pool.needs().whole_path(); });
  for (std::size_t g = 0; g < groups && count > 0; ++g) {
    if (pages_.make_free(g, wanted(g), request.space)) continue;
    count = may_cut ? std::min<std::size_t>(count, state_.pools[g].free_pages()) : 0;
  }
  std::size_t extended = 0;
  for (; extended < groups && count > 0; ++extended) {
    std::vector<Page>& row = request.rows[extended];
    make_room(row, first + count);
    scratch_.resize(wanted(extended));
    if (!state_.pools[extended].allocate(scratch_, request.id)) break;
    state_.owned[extended] += scratch_.size();
    row.resize(first + count);
    std::size_t next = 0;
    for (std::size_t i = 0; i < count; ++i) row[first + i] = from[extended][i] != 0 ? scratch_[next++] : 0;
    if (Publisher* publisher = pages_.publisher()) publisher->own_pages(request, extended, first);
  }
  // The allocator counts a page as free but does not hand it out: return the pages of the other groups.
  if (extended < groups) {
    for (std::size_t g = 0; g < extended; ++g) {
      free_owned(request, g, first, first + count, "a fetch that found no room");
      request.rows[g].resize(first);
    }
    return 0;
  }
  set_moving(request, true);
  return count;
}

/// Counts the pages that the request owns as moving, or as owned again.
void RequestFlow::set_moving(RequestState& request, bool moving) {
  if (std::exchange(request.moving, moving) == moving) return;
  for (std::size_t g = 0; g < state_.pools.size(); ++g) {
    const std::vector<Page>& row = request.rows[g];
    const auto own = row.begin() + static_cast<std::ptrdiff_t>(std::min(request.own_from, row.size()));
    const auto pages = static_cast<std::uint64_t>(row.end() - own - std::count(own, row.end(), Page{0}));
    (moving ? state_.moving : state_.owned)[g] += pages;
    (moving ? state_.owned : state_.moving)[g] -= pages;
  }
}

bool RequestFlow::commit_fetch(RequestState& request, Units units) noexcept try {
  set_moving(request, false);
  request.computed = units;
  insert(request, units + state_.overlap, true);
  pages_.end_operation(Operation::insert);
  return request.lock.length >= units;
} catch (const std::bad_alloc&) {  // no memory for the key: nothing is inserted
  return ++state_.lacked, false;
}

void RequestFlow::end_fetch(RequestState& request) {
  set_moving(request, false);
  end(request, Ending::none);
  destroy(request);
}

}  // namespace canopy
