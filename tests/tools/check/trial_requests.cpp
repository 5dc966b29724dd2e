/// The operations of a trial on requests, and their checks.
#include <algorithm>

#include <program/mismatch.h>

#include "trial.h"

namespace canopy::check {

using test::disagree;
using test::expect_equal;

/// Returns true if a request fits next to a prefix of `matched` tokens into pools that hold nothing else.
bool Trial::fits_beside(std::uint32_t matched, const RequestSpec& spec) const {
  std::uint64_t kept = 1;  // if no group holds the whole path, a lock keeps a page
  for (std::size_t g = 0; g < engine_->groups(); ++g)
    if (engine_->pool(g).needs().whole_path()) kept = 0;
  const std::uint64_t prompt = spec.prompt.size(), total = prompt + spec.output_limit;
  for (std::size_t g = 0; g < engine_->groups(); ++g) {
    const PageNeeds& needs = engine_->pool(g).needs();
    if (needs.whole_path()) continue;
    if (needs.peak(matched, matched / needs.page_size, prompt, total, spec.chunk) + kept > engine_->pool(g).limit())
      return false;
  }
  return true;
}

/// Checks that a request that is refused for ever needs more than the limit of a pool, unless that pool lacks memory.
void Trial::must_never_fit(const RequestSpec& spec, const std::string& reason) const {
  const std::uint64_t total = spec.prompt.size() + spec.output_limit;
  for (std::size_t g = 0; g < engine_->groups(); ++g)
    if (!engine_->pool(g).memory().empty() ||
        engine_->pool(g).needs().peak(0, 0, spec.prompt.size(), total, spec.chunk) + 1 > limits_[g])
      return;
  disagree("a request of {} tokens can never run, and fits within all limits: {}", total, reason);
}

/// Checks that what a request has found was committed since the last flush.
void Trial::must_be_known(const Live& live, std::uint32_t tokens) const {
  if (subject_ && !known_[live.space].has(live.request.tokens().first(tokens)))
    disagree("a request finds {} tokens that no request has committed since the last flush of its namespace", tokens);
}

Trial::Live& Trial::start(const RequestSpec& spec, const std::string& name, std::uint32_t space) {
  std::uint32_t expected = parts_->residence.of(
      spec.prompt.first(spec.prompt.size() - std::min<std::size_t>(spec.prompt.size(), spec.min_uncached)), spec.space);
  if (!fits_beside(expected, spec)) expected = 0;
  // The bytes of a token depend on the number of its namespace here, not in the engine.
  const std::uint64_t had = happened();
  Request begun = ask([&] { return engine_->begin(spec, fetched_for(name)); });
  Live& live =
      lives_.emplace_back(Live{name, std::move(begun), replay::Trail(static_cast<NamespaceId>(space)), space, false});
  live.prompt = live.known(), live.found = live.request.matched();
  if (faults_ && faults_->lied) return audit(), live;
  if (happened() != had) expected = live.request.matched();
  expect_equal("tokens matched", live.request.matched(), expected);
  must_be_known(live, expected);
  live.trail.follow(live.request.tokens());
  parts_->content.check(live.request, live.trail, 0, expected);
  ++reached_.requests;
  reached_.hits += expected > 0;
  for (std::size_t g = 0; g < engine_->groups(); ++g) reached_.gaps += live.request.first_page(g) > 0;
  return live;
}

/// Counts a request when it has pages, or computes, for the first time.
void Trial::admit(Live& live) {
  if (std::exchange(live.admitted, true)) return;
  counters_.requests += 1, counters_.prompt_tokens += live.prompt;
  counters_.hit_tokens += std::min(live.found, live.prompt);
}

bool Trial::begin(const Operation& operation) {
  if (find(operation.name)) return false;
  RequestSpec spec{operation.words, space_of(number_of(operation.space))};
  spec.priority = operation.priority;
  if (operation.leave) spec.min_uncached = *operation.leave;
  const Retention retention{operation.keep, operation.us};
  if (operation.keep > 0) spec.retention = {&retention, 1};
  Live& live = start(spec, operation.name, number_of(operation.space));
  live.us = operation.us;
  reached_.kept += live.request.retained() > 0;
  return true;
}

/// Runs a request that the engine admits: alone, at once, and as described in its specification.
bool Trial::serve(const Operation& operation) {
  RequestSpec spec{operation.words, space_of(number_of(operation.space))};
  spec.output_limit = operation.output;
  spec.chunk = operation.chunk;
  const std::uint64_t had = happened();
  const Admission admission = ask([&] { return engine_->admits(spec); });
  // A fetch runs to its end even without a handle, and has pages until then.
  const bool fetches = !fetches_.empty() || engine_->tiers().next_end_us() != kUnlimited;
  if (admission.verdict == Admission::Verdict::wait && lives_.empty() && pins_.empty() && !fetches && !may_fail(had) &&
      !parts_->tenancy.keeps())
    disagree("nothing runs and nothing is pinned, but a request has to wait: {}", admission.reason);
  if (admission.verdict == Admission::Verdict::never && !may_fail(had)) must_never_fit(spec, admission.reason);
  if (admission.verdict != Admission::Verdict::now) return false;
  start(spec, {}, number_of(operation.space));
  const std::size_t at = lives_.size() - 1;
  const std::uint64_t total = operation.words.size() + operation.output;
  while (lives_[at].request.computed() < total && !(faults_ && faults_->lied)) {
    Live& live = lives_[at];
    const std::uint64_t known = live.known(), computed = live.request.computed();
    const std::uint64_t until =
        computed < known ? std::min(known, computed + std::max<std::uint64_t>(operation.chunk, 1)) : known + 1;
    if (!reserve(live, until, until)) {
      if (may_fail(had)) break;
      disagree("a request of {} tokens was admitted and had no page at token {}", total, computed);
    }
    if (until > known) ask([&] { live.request.append(operation.words[until % operation.words.size()]); });
    live.trail.follow(live.request.tokens());
    move_on(live, until, operation.commits);
  }
  if (faults_ && faults_->lied) audit();
  ++reached_.promises;
  finish(lives_[at], lives_[at].request.computed());
  return true;
}

/// Returns the pages that are free or by which the pool may grow. A refused reservation must not change them.
std::uint64_t Trial::may_have(std::size_t group) const {
  return engine_->pool(group).free_pages() + engine_->pool(group).growable();
}

bool Trial::reserve(Live& live, std::uint64_t tokens, std::uint64_t soon) {
  // At most a few pages more than the known tokens need, because a pool without a limit would take everything.
  const std::uint64_t most = live.known() + 4 * std::uint64_t{engine_->page_size()};
  const auto until = static_cast<std::uint32_t>(std::min(tokens, most));
  std::array<std::uint64_t, kMaxGroups> before{};
  bool asks_again = false;  // a pool that was refused memory may find some now and grow
  for (std::size_t g = 0; g < engine_->groups(); ++g) {
    before[g] = may_have(g);
    asks_again |= !engine_->pool(g).memory().empty();
  }
  const std::uint64_t had = happened();
  const auto early = static_cast<std::uint32_t>(std::min<std::uint64_t>(soon, until));
  if (ask([&] { return live.request.reserve(until, early); })) return admit(live), true;
  refused_ = true;
  ++reached_.refused;
  if (happened() != had) return false;
  must_have_tried(live, until, early);
  if (asks_again) return false;
  for (std::size_t g = 0; g < engine_->groups(); ++g)
    expect_equal("free pages after a refusal", may_have(g), before[g]);
  must_not_fit(live, until, early);
  return false;
}

/// Returns the pages of a group that a request needs for a reservation, besides those that it has.
std::size_t Trial::missing_pages(const Live& live, std::size_t group, std::uint64_t tokens, std::uint64_t soon) const {
  const PageNeeds& needs = engine_->pool(group).needs();
  const std::size_t length = live.request.row(group).size();
  const std::size_t wanted = needs.row_length(needs.whole_path() ? tokens : std::min(tokens, soon));
  return wanted <= length ? 0 : needs.count(length, wanted);
}

/// Checks that the first group got memory for pages if it had none: a pool without pages tries each time.
void Trial::must_have_tried(const Live& live, std::uint64_t tokens, std::uint64_t soon) const {
  const PoolView pool = engine_->pool(0);
  if (draining() || pool.offered() > 0 || missing_pages(live, 0, tokens, soon) == 0) return;
  disagree("a reservation of {} tokens left group {} without a page, and no memory was refused", tokens, pool.group());
}

/// Checks that some group has fewer pages than a reservation needs, counting all that can be evicted or obtained from
/// the system.
void Trial::must_not_fit(const Live& live, std::uint64_t tokens, std::uint64_t soon) const {
  if (draining()) return;  // pages evicted from a draining segment are not free afterwards
  for (std::size_t g = 0; g < engine_->groups(); ++g) {
    if (engine_->pool(g).offered() > limits_[g]) return;  // nor are those that the allocator had no memory to withdraw
    if (missing_pages(live, g, tokens, soon) >
        may_have(g) + engine_->index().sizes(g).evictable / engine_->page_size())
      return;
  }
  disagree("a reservation of {} tokens was refused although every group has the pages", tokens);
}

/// Computes up to `tokens` tokens, as far as there are pages for them.
bool Trial::move_on(Live& live, std::uint64_t tokens, bool commits) {
  Request& request = live.request;
  const std::uint32_t computed = request.computed();
  const auto until =
      static_cast<std::uint32_t>(std::min({tokens, std::uint64_t{request.reserved()}, std::uint64_t{live.known()}}));
  if (until < computed && (!commits || until <= request.committed())) return false;
  live.trail.follow(request.tokens());
  if (until > computed) parts_->content.write(request, live.trail, computed, until);
  std::array<std::size_t, kMaxGroups> first{};
  for (std::size_t g = 0; g < engine_->groups(); ++g) first[g] = request.first_page(g);
  if (until > 0) admit(live);
  if (commits) {
    const std::uint32_t committed = request.committed();
    known_[live.space].add(request.tokens().first(until));
    const std::uint32_t repointed = ask([&] { return request.commit(until); });
    reached_.repointed += repointed;
    parts_->content.check(request, live.trail, committed, committed + repointed);
  } else {
    ask([&] { request.advance(until); });
  }
  for (std::size_t g = 0; g < engine_->groups(); ++g) reached_.passed_pages += request.first_page(g) - first[g];
  return true;
}

bool Trial::draining() const {
  for (std::size_t g = 0; g < engine_->groups(); ++g)
    if (engine_->pool(g).draining()) return true;
  return false;
}

bool Trial::finish(Live& live, std::uint64_t tokens) {
  const auto until = static_cast<std::uint32_t>(std::min<std::uint64_t>(tokens, live.request.computed()));
  const std::uint32_t committed = live.request.committed();
  const auto computed = live.request.tokens().first(until);
  left_.assign(computed.begin(), computed.end());
  left_space_ = live.space;
  const bool was_draining = draining();  // then the pages that it leaves may have to go at once
  const std::uint64_t had = happened();
  const NamespaceId space = spaces_[live.space];
  const PageNeeds& needs = engine_->pool(0).needs();
  const std::uint32_t period = engine_->page_size() * needs.grid;
  const auto boundary_of = [&](std::uint32_t end) { return (end - std::min(end, needs.overlap)) / period * period; };
  Kept kept{{}, live.space, 0, now_us_ + live.us};
  const std::uint32_t inserted =
      std::max(committed / period * period, inserts_at_finish_ ? boundary_of(until) : std::uint32_t{0});
  if (until == live.request.computed()) kept.length = std::min(live.request.retained(), inserted);
  if (kept.length > 0)
    kept.tokens.assign(live.request.tokens().begin(), live.request.tokens().begin() + kept.length + needs.overlap);
  known_[live.space].add(left_);
  Operation& recent = recent_[counters_.finished % recent_.size()];
  recent.verb = Verb::bring;
  recent.words = left_;
  recent.space = NamespaceId{live.space};
  ask([&] { live.request.finish(until); });
  if (until > 0) admit(live);
  ++(live.admitted ? counters_.finished : counters_.tries);
  if (live.request.retained() < kept.length) {  // it takes back what it cannot keep
    kept.length = live.request.retained();
    kept.tokens.resize(kept.length + needs.overlap);
  }
  drop(live);
  ++reached_.finished;
  if (kept.length > 0 && kept.until_us > now_us_ && !may_fail(had)) {
    if (const std::uint32_t has = parts_->residence.of(kept.tokens, space); has < kept.length)
      disagree("a request has finished that was promised to keep {} tokens, and {} of them are there", kept.length,
               has);
    kept_.push_back(std::move(kept));
  }
  // Its prefix can be matched up to its last boundary, unless that one was committed earlier: its window may have left
  // since.
  const std::uint32_t boundary = boundary_of(until);
  const bool keeps = inserts_at_finish_ && !few_a_path_ && engine_->index().now() > 0 &&  // the null index has no clock
                     !parts_->tenancy.any_ceiling();
  if (keeps && !was_draining && !may_fail(had) && boundary > committed && parts_->residence.of(left_, space) < boundary)
    disagree("a request finished with {} tokens, but only {} of them can be matched", until,
             parts_->residence.of(left_, space));
  return true;
}

/// Removes a request, and aborts it if it has not ended. Other requests may change their place.
void Trial::drop(const Live& live) {
  const std::size_t at = static_cast<std::size_t>(&live - lives_.data());
  if (!live.request.ended()) ++(live.admitted ? counters_.aborted : counters_.tries);
  if (at + 1 != lives_.size()) std::swap(lives_[at], lives_.back());
  ask([&] { lives_.pop_back(); });
}

bool Trial::retract(Live& live) {
  ask([&] { live.request.retract(); });
  ++counters_.retracted;
  live.aside = true;
  ++reached_.retracted;
  return true;
}

/// Rematches a request: what the index has beyond its computed tokens belongs to it from now on, and is compared to the
/// last byte.
bool Trial::rematch(Live& live) {
  const std::uint32_t computed = live.request.computed();
  const std::uint64_t had = happened();
  const std::uint32_t gained = ask([&] { return live.request.rematch(); });
  if (live.admitted) counters_.hit_tokens += std::min(computed + gained, live.prompt) - std::min(computed, live.prompt);
  else live.found += gained;
  if (faults_ && faults_->lied) return true;
  expect_equal("tokens computed after a rematch", live.request.computed(), computed + gained);
  if (gained == 0) return true;
  const std::uint32_t expected = parts_->residence.of(live.request.tokens(), spaces_[live.space]);
  if (!may_fail(had) && computed + gained > expected)
    disagree("a rematch reached {} tokens, but {} are resident", computed + gained, expected);
  must_be_known(live, computed + gained);
  reached_.rematched += gained;
  parts_->content.check(live.request, live.trail, 0, computed + gained);
  return true;
}

bool Trial::resume(Live& live) {
  if (!live.aside) return false;
  const std::uint32_t matched = ask([&] { return live.request.resume(); });
  live.aside = false;
  live.found = matched;
  if (faults_ && faults_->lied) return true;
  if (matched > live.known()) disagree("{} of {} tokens are resident", matched, live.known());
  must_be_known(live, matched);
  reached_.resumed_on_pages += matched > 0;
  parts_->content.check(live.request, live.trail, 0, matched);
  return true;
}

}  // namespace canopy::check
