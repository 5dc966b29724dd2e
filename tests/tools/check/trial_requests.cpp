/// The operations of a trial on requests, and their checks.
#include <algorithm>

#include <conformance/model/mismatch.h>

#include "trial.h"

namespace canopy::check {

using test::disagree;
using test::expect_equal;

/// Returns true if a request fits next to a prefix of `matched` tokens into pools that hold nothing else.
bool Trial::fits_beside(std::uint32_t matched, const RequestSpec& spec) const {
  std::uint64_t kept = 1;  // if no group holds the whole path, a lock keeps a page
  for (std::size_t g = 0; g < engine_.groups(); ++g)
    if (engine_.pool(g).needs().whole_path()) kept = 0;
  const std::uint64_t prompt = spec.prompt.size(), total = prompt + spec.output_limit;
  for (std::size_t g = 0; g < engine_.groups(); ++g) {
    const PageNeeds& needs = engine_.pool(g).needs();
    if (needs.whole_path()) continue;
    if (needs.peak(matched, matched / needs.page_size, prompt, total, spec.chunk) + kept > engine_.pool(g).limit())
      return false;
  }
  return true;
}

Trial::Live& Trial::start(const RequestSpec& spec, std::uint64_t name, std::uint32_t space) {
  std::uint32_t expected = residence_.of(
      spec.prompt.first(spec.prompt.size() - std::min<std::size_t>(spec.prompt.size(), spec.min_uncached)), spec.space);
  if (!fits_beside(expected, spec)) expected = 0;
  // The bytes of a token depend on the number of its namespace here, not in the engine.
  Live& live = lives_.emplace_back(
      Live{name, engine_.begin(spec, fetched_for(name)), replay::Trail(static_cast<NamespaceId>(space)), space, false});
  if (faults_ && faults_->lied) return audit(), live;
  expect_equal("tokens matched", live.request.matched(), expected);
  live.trail.follow(live.request.tokens());
  content_.check(live.request, live.trail, 0, expected);
  ++reached_.requests;
  reached_.hits += expected > 0;
  for (std::size_t g = 0; g < engine_.groups(); ++g) reached_.gaps += live.request.first_page(g) > 0;
  return live;
}

bool Trial::begin(const Operation& operation) {
  if (find(operation.request)) return false;
  RequestSpec spec{operation.tokens, space_of(operation.space)};
  spec.priority = operation.priority;
  spec.min_uncached = operation.leave;
  const Retention retention{operation.keep, operation.us};
  if (operation.keep > 0) spec.retention = {&retention, 1};
  const Live& live = start(spec, operation.request, operation.space);
  reached_.kept += live.request.retained() > 0;
  return true;
}

/// Runs a request that the engine admits: alone, at once, and as described in its specification.
bool Trial::serve(const Operation& operation) {
  constexpr std::uint64_t kName = ~std::uint64_t{0};
  RequestSpec spec{operation.tokens, space_of(operation.space)};
  spec.output_limit = operation.output;
  spec.chunk = operation.chunk;
  const Admission admission = engine_.admits(spec);
  const std::uint64_t had = happened();
  // A fetch runs to its end even without a handle, and has pages until then.
  const bool fetches = !fetches_.empty() || engine_.tiers().next_end_us() != kUnlimited;
  if (admission.verdict == Admission::Verdict::wait && lives_.empty() && pins_.empty() && !fetches && !may_fail(had) &&
      !tenancy_.keeps())
    disagree("nothing runs and nothing is pinned, but a request has to wait: {}", admission.reason);
  if (admission.verdict != Admission::Verdict::now) return false;
  start(spec, kName, operation.space);
  const std::size_t at = lives_.size() - 1;
  const std::uint64_t total = operation.tokens.size() + operation.output;
  while (lives_[at].request.computed() < total && !(faults_ && faults_->lied)) {
    Live& live = lives_[at];
    const std::uint64_t known = live.known(), computed = live.request.computed();
    const std::uint64_t until =
        computed < known ? std::min(known, computed + std::max<std::uint64_t>(operation.chunk, 1)) : known + 1;
    if (!reserve(live, until, until)) {
      if (may_fail(had)) break;
      disagree("a request of {} tokens was admitted and had no page at token {}", total, computed);
    }
    if (until > known) live.request.append(operation.tokens[until % operation.tokens.size()]);
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
  return engine_.pool(group).allocator().occupancy().free + engine_.pool(group).growable();
}

bool Trial::reserve(Live& live, std::uint64_t tokens, std::uint64_t soon) {
  // At most a few pages more than the known tokens need, because a pool without a limit would take everything.
  const std::uint64_t most = live.known() + 4 * std::uint64_t{engine_.page_size()};
  const auto until = static_cast<std::uint32_t>(std::min(tokens, most));
  std::array<std::uint64_t, kMaxGroups> before{};
  bool asks_again = false;  // a pool that was refused memory may find some now and grow
  for (std::size_t g = 0; g < engine_.groups(); ++g) {
    before[g] = may_have(g);
    asks_again |= !engine_.pool(g).memory().empty();
  }
  const std::uint64_t had = happened();
  const auto early = static_cast<std::uint32_t>(std::min<std::uint64_t>(soon, until));
  if (live.request.reserve(until, early)) return true;
  refused_ = true;
  ++reached_.refused;
  if (happened() != had || asks_again) return false;
  for (std::size_t g = 0; g < engine_.groups(); ++g) expect_equal("free pages after a refusal", may_have(g), before[g]);
  must_not_fit(live, until, early);
  return false;
}

/// Checks that some group has fewer pages than a reservation needs, counting all that can be evicted or obtained from
/// the system.
void Trial::must_not_fit(const Live& live, std::uint64_t tokens, std::uint64_t soon) const {
  if (draining()) return;  // pages evicted from a draining segment are not free afterwards
  for (std::size_t g = 0; g < engine_.groups(); ++g) {
    const PageNeeds& needs = engine_.pool(g).needs();
    const std::size_t length = live.request.row(g).size();
    const std::size_t wanted = needs.row_length(needs.whole_path() ? tokens : std::min(tokens, soon));
    if (wanted <= length) continue;
    if (needs.count(length, wanted) > may_have(g) + engine_.index().sizes(g).evictable / engine_.page_size()) return;
  }
  disagree("a reservation of {} tokens was refused although every group has the pages", tokens);
}

/// Computes up to `tokens` tokens, as far as there are pages for them.
bool Trial::move_on(Live& live, std::uint64_t tokens, bool commits) {
  Request& request = live.request;
  const std::uint32_t computed = request.computed();
  const auto until =
      static_cast<std::uint32_t>(std::min({tokens, std::uint64_t{request.reserved()}, std::uint64_t{live.known()}}));
  if (until < computed) return false;
  content_.write(request, live.trail, computed, until);
  std::array<std::size_t, kMaxGroups> first{};
  for (std::size_t g = 0; g < engine_.groups(); ++g) first[g] = request.first_page(g);
  if (commits) {
    const std::uint32_t committed = request.committed(), repointed = request.commit(until);
    reached_.repointed += repointed;
    content_.check(request, live.trail, committed, committed + repointed);
  } else {
    request.advance(until);
  }
  for (std::size_t g = 0; g < engine_.groups(); ++g) reached_.passed_pages += request.first_page(g) - first[g];
  return true;
}

bool Trial::draining() const {
  for (std::size_t g = 0; g < engine_.groups(); ++g)
    if (engine_.pool(g).draining()) return true;
  return false;
}

bool Trial::finish(Live& live, std::uint64_t tokens) {
  const auto until = static_cast<std::uint32_t>(std::min<std::uint64_t>(tokens, live.request.computed()));
  const std::uint32_t committed = live.request.committed();
  const auto computed = live.request.tokens().first(until);
  left_.assign(computed.begin(), computed.end());
  const bool was_draining = draining();  // then the pages that it leaves may have to go at once
  const std::uint64_t had = happened();
  const NamespaceId space = spaces_[live.space];
  live.request.finish(until);
  drop(live);
  ++reached_.finished;
  // Its prefix can be matched up to its last boundary, unless that one was committed earlier: its window may have left
  // since.
  const PageNeeds& needs = engine_.pool(0).needs();
  const std::uint32_t period = engine_.page_size() * needs.grid;
  const std::uint32_t boundary = (until - std::min(until, needs.overlap)) / period * period;
  const bool keeps = inserts_at_finish_ && engine_.index().now() > 0 &&  // the null index has no clock
                     !tenancy_.any_ceiling();
  if (keeps && !was_draining && !may_fail(had) && boundary > committed && residence_.of(left_, space) < boundary)
    disagree("a request finished with {} tokens, but only {} of them can be matched", until,
             residence_.of(left_, space));
  return true;
}

/// Removes a request, and aborts it if it has not ended. Other requests may change their place.
void Trial::drop(const Live& live) {
  const std::size_t at = static_cast<std::size_t>(&live - lives_.data());
  if (at + 1 != lives_.size()) std::swap(lives_[at], lives_.back());
  lives_.pop_back();
}

bool Trial::retract(Live& live) {
  live.request.retract();
  live.aside = true;
  ++reached_.retracted;
  return true;
}

/// Rematches a request: what the index has beyond its computed tokens belongs to it from now on, and is compared to the
/// last byte.
bool Trial::rematch(Live& live) {
  const std::uint32_t computed = live.request.computed();
  const std::uint64_t had = happened();
  const std::uint32_t gained = live.request.rematch();
  if (faults_ && faults_->lied) return true;
  expect_equal("tokens computed after a rematch", live.request.computed(), computed + gained);
  if (gained == 0) return true;
  const std::uint32_t expected = residence_.of(live.request.tokens(), spaces_[live.space]);
  if (!may_fail(had) && computed + gained > expected)
    disagree("a rematch reached {} tokens, but {} are resident", computed + gained, expected);
  reached_.rematched += gained;
  content_.check(live.request, live.trail, 0, computed + gained);
  return true;
}

bool Trial::resume(Live& live) {
  if (!live.aside) return false;
  live.aside = false;
  const std::uint32_t matched = live.request.resume();
  if (faults_ && faults_->lied) return true;
  if (matched > live.known()) disagree("{} of {} tokens are resident", matched, live.known());
  reached_.resumed_on_pages += matched > 0;
  content_.check(live.request, live.trail, 0, matched);
  return true;
}

}  // namespace canopy::check
