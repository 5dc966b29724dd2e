#include "random_requests.h"

#include <conformance/model/mismatch.h>

#include <algorithm>
#include <unordered_map>

namespace canopy::test {

void Reached::add(const Reached& other) {
  requests += other.requests, hits += other.hits, repointed += other.repointed, evictions += other.evictions;
  refused += other.refused, retracted += other.retracted, resumed_on_pages += other.resumed_on_pages;
  passed_pages += other.passed_pages, finished += other.finished, aborted += other.aborted;
  promises += other.promises, gaps += other.gaps, flushed += other.flushed;
  resized += other.resized, drained += other.drained, blocked += other.blocked;
}

RandomRequests::RandomRequests(Engine& engine, const Registry& registry, std::uint64_t seed, std::uint32_t spaces,
                               bool inserts_at_finish, bool resizes)
    : engine_(engine),
      registry_(registry),
      random_(seed),
      inserts_at_finish_(inserts_at_finish),
      resizes_(resizes),
      content_(engine) {
  for (std::uint32_t i = 0; i < spaces; ++i) {
    const std::string tenant = i ? "tenant " + std::to_string(i) : std::string();
    spaces_.push_back(engine.intern({tenant, {}, {}}));
  }
}

void RandomRequests::run(std::size_t operations) {
  for (std::size_t i = 0; i < operations; ++i) {
    const std::uint32_t lot = random_.below(100);
    if (live_.empty() || (lot < 12 && live_.size() < 8)) begin();
    else if (lot < 15) promised();
    else if (lot < 80) step();
    else if (lot < 86) finish(any());
    else if (lot < 90) abort(any());
    else if (lot < 95) retract(any());
    else if (lot < 97) resume(any()->second);
    else if (lot < 98) resizes_&& random_.one_in(2) ? resize() : flush();
    else if (lot < 99) other_policy();
    else engine_.make_free(random_.below(static_cast<std::uint32_t>(engine_.groups())), random_.below(12));
    check("an operation");
  }
}

void RandomRequests::finish() {
  while (!live_.empty()) abort(live_.begin());
  for (std::uint32_t i = 0; i < engine_.spaces(); ++i) engine_.flush(static_cast<NamespaceId>(i));
  engine_.audit();
  check("the end");
  if (resizes_) everything_leaves();
  reached_.evictions = engine_.counters().evict_calls;
  for (std::size_t g = 0; g < engine_.groups(); ++g) {
    const Occupancy occupancy = engine_.pool(g).occupancy();
    expect_equal("free pages when every request has ended", occupancy.free, occupancy.capacity);
  }
  expect_equal("nodes of an index that was flushed", engine_.index().use().nodes, std::uint64_t{0});
}

void RandomRequests::check(const char* after) {
  if (++operations_ % 64 == 0) engine_.audit();
  if (engine_.ledger().violations() > 0) disagree("after {}: {}", after, engine_.ledger().reports()[0]);
  if (content_.violations() > 0) disagree("after {}: {}", after, content_.reports()[0]);
}

RandomRequests::Lives::iterator RandomRequests::any() {
  return std::next(live_.begin(), random_.below(static_cast<std::uint32_t>(live_.size())));
}

std::vector<Token> RandomRequests::random_prompt() {
  // Few symbols, and beginnings of earlier prompts and answers, so that everything shares something.
  std::vector<Token> prompt;
  if (!history_.empty() && !random_.one_in(4)) {
    const auto& earlier = history_[random_.below(static_cast<std::uint32_t>(history_.size()))];
    prompt.assign(earlier.begin(), earlier.begin() + random_.below(static_cast<std::uint32_t>(earlier.size() + 1)));
  }
  for (std::uint32_t more = random_.below(10 * engine_.page_size()) + 1; more > 0; --more)
    prompt.push_back(random_.below(3));
  return prompt;
}

/// Tokens of the deepest boundary that every group can serve, by a walk over everything there is.
std::uint32_t RandomRequests::resident(std::span<const Token> tokens, NamespaceId space) const {
  struct Walk final : NodeVisitor {
    std::span<const Token> words;
    NamespaceId space{};
    Units page = 1;
    std::size_t groups = 1;
    std::unordered_map<NodeId, Units> ends;              ///< nodes that agree with the words to their end
    std::vector<std::array<bool, kMaxGroups>> resident;  ///< by page
    void node(const NodeView& node) override {
      if (node.facts.space != space) return;
      if (node.parent != NodeId::none && !ends.contains(node.parent)) return;
      const Units overlap = static_cast<Units>(node.words.size()) - node.facts.length;
      Units agrees = 0;
      while (agrees < node.facts.length) {
        const std::size_t first = node.facts.begin + agrees, last = first + page + overlap;
        if (last > words.size() ||
            !std::equal(words.begin() + static_cast<std::ptrdiff_t>(first),
                        words.begin() + static_cast<std::ptrdiff_t>(last), node.words.begin() + agrees))
          break;
        agrees += page;
        resident.resize(first / page + 1);
        for (std::size_t g = 0; g < groups; ++g) resident[first / page][g] = !node.pages[g].empty();
      }
      if (agrees == node.facts.length) ends.emplace(node.facts.id, node.facts.begin + node.facts.length);
    }
  } walk;
  walk.words = tokens;
  walk.space = space;
  walk.page = engine_.page_size();
  walk.groups = engine_.groups();
  engine_.index().visit(walk);
  for (std::size_t pages = walk.resident.size(); pages > 0; --pages) {
    bool serves = true;
    for (std::size_t g = 0; g < walk.groups; ++g) {
      const std::uint64_t length = pages * walk.page, reach = engine_.pool(g).needs().reach;
      for (std::size_t i = reach >= length ? 0 : (length - reach) / walk.page; i < pages; ++i)
        serves &= walk.resident[i][g];
    }
    if (serves) return static_cast<std::uint32_t>(pages * walk.page);
  }
  return 0;
}

RandomRequests::Lives::iterator RandomRequests::begin(const RequestSpec& arrival) {
  const std::uint32_t expected =
      resident(arrival.prompt.first(arrival.prompt.size() - arrival.min_uncached), arrival.space);
  const auto at =
      live_.emplace(next_++, Live{engine_.begin(arrival), replay::Trail(arrival.space), arrival.space}).first;
  Live& live = at->second;
  expect_equal("tokens matched", live.request.matched(), expected);
  live.trail.follow(live.request.tokens());
  content_.check(live.request, live.trail, 0, expected);
  ++reached_.requests;
  reached_.hits += expected > 0;
  for (std::size_t g = 0; g < engine_.groups(); ++g) reached_.gaps += live.request.first_page(g) > 0;
  return at;
}

void RandomRequests::begin() {
  const auto prompt = random_prompt();
  RequestSpec arrival{prompt, spaces_[random_.below(static_cast<std::uint32_t>(spaces_.size()))]};
  arrival.priority = static_cast<std::int32_t>(random_.below(4));
  arrival.min_uncached = random_.below(2);
  begin(arrival);
}

/// A request that was told it can run now, runs: alone and at once, as it said it would.
void RandomRequests::promised() {
  const auto prompt = random_prompt();
  RequestSpec arrival{prompt, spaces_[random_.below(static_cast<std::uint32_t>(spaces_.size()))]};
  arrival.output_limit = random_.below(3 * engine_.page_size());
  arrival.chunk = 1 + random_.below(3 * engine_.page_size());
  if (engine_.admits(arrival).verdict != Admission::Verdict::now) return;
  const auto at = begin(arrival);
  Live& live = at->second;
  const auto total = static_cast<std::uint32_t>(prompt.size()) + arrival.output_limit;
  const bool commits = random_.one_in(2);
  while (live.request.computed() < total)
    if (!step(live, arrival.chunk, commits))
      disagree("a request of {} tokens was promised its pages and had none at {}", total, live.request.computed());
  ++reached_.promises;
  finish(at);
}

/// The next chunk or the next token of a request; false, and nothing has changed, if there are no pages for it.
bool RandomRequests::step(Live& live, std::uint32_t chunk, bool commits) {
  Request& request = live.request;
  const auto known = static_cast<std::uint32_t>(request.tokens().size());
  const std::uint32_t computed = request.computed();
  const std::uint32_t until = computed < known ? std::min(known, computed + chunk) : known + 1;
  std::array<std::uint64_t, kMaxGroups> before{};
  for (std::size_t g = 0; g < engine_.groups(); ++g) before[g] = may_have(g);
  // Full attention may be promised more than the next step.
  if (!request.reserve(random_.one_in(8) ? until + random_.below(8) : until, until)) {
    ++reached_.refused;
    for (std::size_t g = 0; g < engine_.groups(); ++g)
      expect_equal("free pages after a refusal", may_have(g), before[g]);
    if (!request.reserve(until, until)) return false;
  }
  if (until > known) request.append(random_.below(3));
  live.trail.follow(request.tokens());
  content_.write(request, live.trail, computed, until);
  std::array<std::size_t, kMaxGroups> first{};
  for (std::size_t g = 0; g < engine_.groups(); ++g) first[g] = request.first_page(g);
  const std::uint32_t committed = request.committed();
  if (commits) {
    const std::uint32_t repointed = request.commit(until);
    reached_.repointed += repointed;
    content_.check(request, live.trail, committed, committed + repointed);
  } else {
    request.advance(until);
  }
  for (std::size_t g = 0; g < engine_.groups(); ++g) reached_.passed_pages += request.first_page(g) - first[g];
  return true;
}

void RandomRequests::step() {
  Live& live = any()->second;
  if (live.aside) return resume(live);
  if (live.request.tokens().size() > 40 * engine_.page_size()) return finish(live_.begin());
  if (!step(live, 1 + random_.below(3 * engine_.page_size()), random_.one_in(2))) retract(any());
}

void RandomRequests::finish(Lives::iterator at) {
  Live& live = at->second;
  const std::uint32_t computed = live.request.computed(), committed = live.request.committed();
  const auto tokens = live.request.tokens().first(computed);
  std::vector<Token> known(tokens.begin(), tokens.end());
  const auto draining = [&] {
    for (std::size_t g = 0; g < engine_.groups(); ++g)
      if (engine_.pool(g).draining()) return true;
    return false;
  };
  const bool was_draining = draining();  // then what it leaves may have to go at once
  live.request.finish(computed);
  // What it leaves can be matched up to its last boundary, unless that one was committed earlier: since then its
  // window may have left.
  const std::uint32_t period = engine_.page_size() * engine_.pool(0).needs().grid,
                      overlap = engine_.pool(0).needs().overlap;
  const std::uint32_t boundary = (computed - std::min(computed, overlap)) / period * period;
  if (inserts_at_finish_ && !was_draining && boundary > committed && resident(known, live.space) < boundary)
    disagree("a request finished with {} tokens, and only {} of them can be matched", computed,
             resident(known, live.space));
  if (history_.size() < 32) history_.push_back(std::move(known));
  else history_[random_.below(32)] = std::move(known);
  live_.erase(at);
  ++reached_.finished;
}

void RandomRequests::abort(Lives::iterator at) {
  live_.erase(at);
  ++reached_.aborted;
}

void RandomRequests::retract(Lives::iterator at) {
  if (at->second.aside) return;
  at->second.request.retract();
  at->second.aside = true;
  ++reached_.retracted;
}

void RandomRequests::resume(Live& live) {
  if (!live.aside) return;
  live.aside = false;
  const auto tokens = live.request.tokens();
  const std::uint32_t matched = live.request.resume();
  if (matched > tokens.size()) disagree("{} of {} tokens are resident", matched, tokens.size());
  reached_.resumed_on_pages += matched > 0;
  content_.check(live.request, live.trail, 0, matched);
}

void RandomRequests::flush() {
  const NamespaceId space = spaces_[random_.below(static_cast<std::uint32_t>(spaces_.size()))];
  reached_.flushed += engine_.flush(space);
  expect_equal("evictable units after a flush", engine_.index().sizes(0, space).evictable, std::uint64_t{0});
}

/// Pages that are free or that the pool may grow by: what a reservation in vain must not change.
std::uint64_t RandomRequests::may_have(std::size_t group) const {
  return engine_.pool(group).allocator().occupancy().free + engine_.pool(group).growable();
}

/// Another limit, from a few segments to more than all requests need.
void RandomRequests::resize() {
  const std::size_t g = random_.below(static_cast<std::uint32_t>(engine_.groups()));
  const std::uint64_t limit = random_.one_in(8) ? kUnlimited : 8 + random_.below(300);
  engine_.resize(g, limit);
  ++reached_.resized;
  const Pool& pool = engine_.pool(g);
  std::uint64_t waits = 0, leaving = 0;
  for (const Blocker& blocker : engine_.blockers(g)) waits += blocker.pages;
  for (const PoolSegment& segment : pool.segments()) leaving += segment.draining;
  if (pool.offered() > limit) disagree("a pool limited to {} pages offers {}", limit, pool.offered());
  // Several requests may hold one page.
  if (waits < leaving) disagree("{} pages leave, and requests hold {} of them", leaving, waits);
  reached_.blocked += leaving > 0;
  reached_.drained += leaving == 0;
}

/// Every request has ended: no pool waits for anything, and under the least limit one page is left.
void RandomRequests::everything_leaves() {
  for (std::size_t g = 0; g < engine_.groups(); ++g) {
    engine_.resize(g, 1);
    const Pool& pool = engine_.pool(g);
    expect_equal("pages that leave", pool.draining(), false);
    expect_equal("pages of a pool limited to one", pool.occupancy().capacity, std::uint64_t{1});
    std::uint32_t idle = 0;
    for (const PoolSegment& segment : pool.segments())
      idle += segment.state() == SegmentState::idle && segment.all.first != 0;
    if (idle > 1) disagree("{} empty segments keep their memory", idle);
  }
}

void RandomRequests::other_policy() {
  const auto names = registry_.names(EvictionStrategy::kInterface);
  const std::string& name = names[random_.below(static_cast<std::uint32_t>(names.size()))];
  auto policy = registry_.make<EvictionStrategy>(name, {});
  if (policy) engine_.use_policy(random_.below(static_cast<std::uint32_t>(engine_.groups())), *policy);
}

}  // namespace canopy::test
