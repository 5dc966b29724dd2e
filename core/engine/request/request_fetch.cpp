/// A request that computes nothing: what a fetch does to the pools and the index above.
#include <canopy/engine/publisher.h>

#include <algorithm>
#include <utility>

#include "request/request_flow.h"

namespace canopy {

RequestFlow::Arrival RequestFlow::arrival(const RequestSpec& spec, bool prints_wanted) {
  Arrival arrival;
  RequestFacts& facts = arrival.facts;
  facts.space = spec.space;
  facts.priority = spec.priority;
  facts.prompt = static_cast<std::uint32_t>(spec.prompt.size());
  facts.hints = spec.hints;
  facts.id = next_request_++;
  if (prints_wanted) use_prints(facts, spec.prompt);
  arrival.key = reusable_key(spec);
  return arrival;
}

RequestState* RequestFlow::begin_fetch(const RequestSpec& spec, Units units) {
  RequestState& request = make(spec, spec.prompt.first(units + state_.overlap));
  request.fetches = true;
  GroupPages resident;
  {
    const IndexTimer timer(state_);
    request.lock = state_.index->hold(state_.index->find({spec.space, encode(request.tokens)}).node);
    resident = state_.index->pages(request.lock);
  }
  stand_on(request, resident);
  if (Publisher* publisher = pages_.publisher()) publisher->request_begun(request);
  pages_.settle(Operation::begin);
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
    if (pages_.make_free(g, wanted(g))) continue;
    count = may_cut ? std::min<std::size_t>(count, state_.pools[g].allocator().occupancy().free) : 0;
  }
  std::size_t extended = 0;
  for (; extended < groups && count > 0; ++extended) {
    scratch_.resize(wanted(extended));
    if (!state_.pools[extended].allocate(scratch_, request.id)) break;
    state_.owned[extended] += scratch_.size();
    std::vector<Page>& row = request.rows[extended];
    row.resize(first + count);
    std::size_t next = 0;
    for (std::size_t i = 0; i < count; ++i) row[first + i] = from[extended][i] != 0 ? scratch_[next++] : 0;
    if (Publisher* publisher = pages_.publisher()) publisher->own_pages(request, extended, first);
  }
  // An allocator that counts a page as free and will not hand it out: the pages of the other groups go back.
  if (extended < groups) {
    for (std::size_t g = 0; g < extended; ++g) {
      free_own(request, g, first, first + count, "a fetch that found no room");
      request.rows[g].resize(first);
    }
    return 0;
  }
  set_moving(request, true);
  return count;
}

/// Whether the pages that it owns are on the books as moving.
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

void RequestFlow::commit_fetch(RequestState& request, Units units) {
  set_moving(request, false);
  request.computed = units;
  insert(request, units + state_.overlap, true);
}

void RequestFlow::end_fetch(RequestState& request) {
  set_moving(request, false);
  give_back(request, nullptr);
  publish(request, RequestPhase::finished);
  retire(request);
  let_go(request);
}

}  // namespace canopy
