#include "request/request_flow.h"

#include <canopy/engine/publisher.h>
#include <canopy/prefix_print.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace canopy {
namespace {

/// Takes `request` out of a list in which it knows its place.
void take_out(std::vector<RequestState*>& list, RequestState& request) {
  list.back()->live_at = request.live_at;
  list[request.live_at] = list.back();
  list.pop_back();
}

}  // namespace

RequestFlow::~RequestFlow() {
  // A request that outlives its engine is a bug of the caller. Its storage is its own from now on.
  for (const auto* list : {&state_.live, &ended_})
    for (RequestState* request : *list) request->flow = nullptr;
}

void RequestFlow::misused(const RequestState& request, std::string_view how) {
  state_.ledger.violated(fmt::format("request {}: {}", request.id, how));
}

std::span<std::uint32_t> RequestFlow::Words::words(std::size_t count) {
  if (room.size() < count) room.resize(count);
  return {room.data(), count};
}

RequestFacts RequestFlow::facts_of(const RequestState& request, std::span<const Token> prompt, Ending ending) {
  RequestFacts facts;
  facts.space = request.space;
  facts.priority = request.priority;
  facts.prompt = request.prompt;
  facts.matched = request.matched;
  facts.output = static_cast<std::uint32_t>(request.tokens.size()) - request.prompt;
  facts.hints = request.hints;
  facts.id = request.id;
  facts.ending = ending;
  if (pages_.prints_wanted()) use_prints(facts, prompt);
  return facts;
}

/// One more state, and room for it in every list that it may be in: the end of a request needs no memory.
void RequestFlow::make_state() {
  const std::size_t all = state_.live.size() + ended_.size() + 1;
  const auto make_room = [&](auto& list) {
    if (list.capacity() < all) list.reserve(2 * all);
  };
  make_room(state_.live), make_room(ended_), make_room(state_.idle);
  state_.idle.push_back(std::make_unique<RequestState>());
}

void RequestFlow::use_prints(RequestFacts& facts, std::span<const Token> prompt) {
  prints_.clear();
  const auto words = encode(prompt);
  std::uint64_t print = first_print(facts.space);
  for (std::size_t end = kPrintStride; end <= words.size(); end += kPrintStride)
    prints_.push_back(print = next_print(print, words.data() + (end - kPrintStride)));
  facts.prefix_prints = prints_;
}

RequestState* RequestFlow::begin(const RequestSpec& spec) {
  if (refuses(spec, "Engine::begin")) return nullptr;
  RequestState& request = make(spec, spec.prompt);
  match(request);
  ++state_.counters.requests;
  state_.counters.prompt_tokens += request.prompt;
  state_.counters.hit_tokens += request.matched;
  pages_.digest().take(Digest::Step::begin, request.id, request.prompt, request.matched);
  if (Publisher* publisher = pages_.publisher()) publisher->request_begun(request);
  if (state_.stop.waiting())
    state_.stop.began(request.id, request.space, request.prompt, request.matched,
                      state_.whole_pages(request.prompt - std::min(request.prompt, request.min_uncached)));
  pages_.settle(Operation::begin);
  return &request;
}

/// A request that runs, with nothing under lock yet.
RequestState& RequestFlow::make(const RequestSpec& spec, std::span<const Token> tokens) {
  if (state_.idle.empty()) make_state();
  RequestState& request = *state_.idle.back();
  request.tokens.assign(tokens.begin(), tokens.end());
  state_.idle.back().release();
  state_.idle.pop_back();
  request.flow = this;
  request.stage = RequestState::Stage::running;
  request.id = next_request_++;
  request.live_at = state_.live.size();
  request.space = spec.space;
  request.priority = spec.priority;
  request.hints = spec.hints;
  request.prompt = static_cast<std::uint32_t>(tokens.size());
  request.min_uncached = spec.min_uncached;
  request.output_limit = spec.output_limit;
  request.chunk = spec.chunk;
  request.fetches = request.moving = false;
  state_.live.push_back(&request);
  return request;
}

void RequestFlow::let_go(RequestState& request) {
  if (request.stage != RequestState::Stage::ended) abort(request);
  take_out(ended_, request);
  state_.idle.emplace_back(&request);
}

/// What of all its tokens a request may look for in the index.
Key RequestFlow::reusable_key(const RequestState& request) {
  const std::span<const Token> tokens(request.tokens);
  const std::size_t usable = tokens.size() - std::min<std::size_t>(tokens.size(), request.min_uncached);
  const std::uint64_t total =
      std::max<std::uint64_t>(tokens.size(), std::uint64_t{request.prompt} + request.output_limit);
  return {request.space, encode(tokens.first(reusable(request.space, tokens, usable, total, request.chunk)))};
}

/// Finds and locks what is resident of all a request's tokens and can be afforded, and points its rows there.
void RequestFlow::match(RequestState& request) {
  request.matched = 0;
  const RequestFacts facts = facts_of(request, request.tokens, Ending::none);
  const Key key = reusable_key(request);
  GroupPages resident;
  {
    IndexTimer timer(state_);
    request.lock = state_.index->match(key, facts);
    resident = state_.index->pages(request.lock);
  }
  stand_on(request, resident);
}

void RequestFlow::advance(RequestState& request, std::uint32_t tokens) {
  if (!may_compute(request, "Request::advance", tokens)) return;
  request.computed = std::max(request.computed, tokens);
  bool any = false;
  for (std::size_t g = 0; g < state_.pools.size(); ++g) {
    const PageNeeds& needs = state_.pools[g].needs();
    if (needs.whole_path()) continue;
    trim(request, g, needs.first_needed(request.computed));
    any = true;
  }
  publish(request, RequestPhase::running);
  if (any || (pages_.publisher() && pages_.publisher()->on())) pages_.settle(Operation::advance);
  drainer_.go_on();
}

std::uint32_t RequestFlow::commit(RequestState& request, std::uint32_t tokens) {
  if (!may_compute(request, "Request::commit", tokens)) return 0;
  const std::uint32_t had = insert(request, tokens, true);
  advance(request, tokens);
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
    found = state_.index->find(key);
    deeper = state_.index->hold(found.node);
  }
  // There was no memory for a split, or the index contradicts itself.
  if (deeper.length != found.length || deeper.length <= request.computed) {
    pages_.release(deeper, nullptr);
    return 0;
  }
  const std::size_t until = deeper.length / state_.page_size;
  for (std::size_t g = 0; g < state_.pools.size(); ++g) free_own(request, g, 0, until, "a rematch");
  drainer_.releasing(request.lock);
  pages_.release(request.lock, nullptr);
  request.lock = deeper;
  request.own_from = until;
  GroupPages resident;
  {
    IndexTimer timer(state_);
    resident = state_.index->pages(deeper);
  }
  for (std::size_t g = 0; g < state_.pools.size(); ++g) {
    std::vector<Page>& row = request.rows[g];
    row.resize(std::max(row.size(), until));
    std::copy(resident[g].begin(), resident[g].end(), row.begin());
    request.first[g] = deeper.from[g] / state_.page_size;
  }
  const std::uint32_t gained = deeper.length - request.computed;
  request.computed = deeper.length;
  state_.counters.hit_tokens += gained;
  publish(request, RequestPhase::running);
  pages_.digest().take(Digest::Step::rematch, request.id, gained, deeper.length);
  pages_.settle(Operation::begin);
  drainer_.go_on();
  return gained;
}

void RequestFlow::retract(RequestState& request) {
  if (request.stage == RequestState::Stage::retracted) return misused(request, "Request::retract twice");
  request.stage = RequestState::Stage::retracted;
  ++state_.counters.retracted;
  give_back(request, Ending::retracted);
  request.matched = request.computed = 0;
  publish(request, RequestPhase::retracted);
  pages_.digest().take(Digest::Step::retract, request.id, request.tokens.size());
  pages_.settle(Operation::retract);
  drainer_.go_on();
}

std::uint32_t RequestFlow::resume(RequestState& request) {
  if (request.stage != RequestState::Stage::retracted) {
    misused(request, "Request::resume, but it was not retracted");
    return request.matched;
  }
  request.stage = RequestState::Stage::running;
  match(request);
  publish(request, RequestPhase::resumed);
  pages_.digest().take(Digest::Step::resume, request.id, request.tokens.size(), request.matched);
  pages_.settle(Operation::begin);
  return request.matched;
}

void RequestFlow::finish(RequestState& request, std::uint32_t tokens) {
  if (tokens > 0 && may_compute(request, "Request::finish", tokens) && insert_at_finish_)
    insert(request, tokens, false);
  ++state_.counters.finished;
  end(request, Ending::finished);
}

void RequestFlow::abort(RequestState& request) {
  ++state_.counters.aborted;
  end(request, Ending::aborted);
}

void RequestFlow::give_back(RequestState& request, Ending ending) {
  const RequestFacts ended = facts_of(request, std::span<const Token>(request.tokens).first(request.prompt), ending);
  give_back(request, &ended);
  if (Below* below = pages_.below(); below && below->watches())
    below->ended({request.space, encode(request.tokens)}, request.priority);
}

void RequestFlow::end(RequestState& request, Ending ending) {
  const bool finished = ending == Ending::finished;
  give_back(request, ending);
  publish(request, finished ? RequestPhase::finished : RequestPhase::aborted);
  pages_.digest().take(Digest::Step::end, request.id, finished);
  retire(request);
}

/// A request that has given everything back runs no longer.
void RequestFlow::retire(RequestState& request) {
  request.stage = RequestState::Stage::ended;
  take_out(state_.live, request);
  request.live_at = ended_.size();
  ended_.push_back(&request);
  pages_.settle(Operation::release);
  drainer_.go_on();
}

void RequestFlow::publish(const RequestState& request, RequestPhase phase) {
  if (Publisher* publisher = pages_.publisher()) publisher->progress(request, phase);
}

}  // namespace canopy
