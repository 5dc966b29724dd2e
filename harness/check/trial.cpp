#include "trial.h"

#include <algorithm>
#include <string>

#include <conformance/model/mismatch.h>

namespace canopy::check {

using test::disagree;
using test::expect_equal;

namespace {

constexpr std::uint32_t kAuditEvery = 64;

/// The tuples of namespaces differ in one part only, so that a part which is left out of a key is found.
Space tuple_of(std::uint32_t number) {
  constexpr Space kTuples[kMostSpaces] = {
      {}, {"a", "", ""}, {"a", "", "s"}, {"a", "", "t"}, {"a", "x", ""}, {"ax", "", ""}, {"", "a", ""}, {"", "", "a"}};
  return kTuples[number];
}

}  // namespace

Trial::Trial(Engine& engine, const Registry& registry, Faults* faults, bool inserts_at_finish)
    : engine_(engine),
      registry_(registry),
      faults_(faults),
      inserts_at_finish_(inserts_at_finish),
      content_(engine),
      residence_(engine) {
  lives_.reserve(16);
}

bool Trial::apply(const Operation& operation) {
  refused_ = false;
  left_.clear();
  ++reached_.operations;
  bool done = false;
  try {
    done = do_it(operation);
  } catch (const test::Mismatch&) {
    if (!faults_ || !faults_->lied) throw;
    over_ = true;  // noticed here
    ++reached_.lies;
    return true;
  }
  if (reached_.operations % kAuditEvery == 0 || (faults_ && faults_->lied)) audit();
  look("an operation");
  return done;
}

bool Trial::do_it(const Operation& operation) {
  const std::uint64_t count = operation.count;
  switch (operation.verb) {
    case Verb::begin:
      return begin(operation);
    case Verb::serve:
      return serve(operation);
    case Verb::flush:
      return flush(static_cast<std::uint32_t>(count));
    case Verb::policy:
      return use_policy(operation.group, operation.name);
    case Verb::resize:
      return resize(operation.group, count);
    case Verb::room:
      engine_.make_free(operation.group, count);
      return true;
    case Verb::pin:
      return pin(count);
    case Verb::unpin:
      return unpin(count);
    case Verb::poll:
      engine_.poll();
      return true;
    case Verb::fetch:
      return fetch(operation);
    case Verb::turn:
      turn(count);
      return true;
    case Verb::refuse_pages:
    case Verb::refuse_memory:
    case Verb::refuse_insert:
    case Verb::lie:
      return arm(operation);
    default:
      break;
  }
  Live* live = find(operation.request);
  if (!live) return false;
  if (operation.verb == Verb::resume) return resume(*live);
  if (operation.verb == Verb::abort) {
    drop(*live);
    ++reached_.aborted;
    return true;
  }
  if (live->aside) return false;
  switch (operation.verb) {
    case Verb::reserve:
      return reserve(*live, count, operation.soon ? operation.soon : count);
    case Verb::append:
      for (const Token token : operation.tokens) live->request.append(token);
      live->trail.follow(live->request.tokens());
      return true;
    case Verb::advance:
    case Verb::commit:
      return move_on(*live, count, operation.verb == Verb::commit);
    case Verb::rematch:
      return rematch(*live);
    case Verb::finish:
      return finish(*live, count);
    default:
      return retract(*live);
  }
}

void Trial::finish() {
  if (faults_) faults_->disarm();
  while (!lives_.empty()) drop(lives_.back());
  fetches_.clear();
  while (engine_.next_end_us() != kUnlimited) turn(1'000'000);
  while (!pins_.empty()) unpin(0);
  for (std::uint32_t i = 0; i < engine_.spaces(); ++i) engine_.flush(static_cast<NamespaceId>(i));
  audit();
  look("the end");
  if (!over_) everything_leaves();
  if (!over_) look("the least limit");
  reached_.evictions = engine_.counters().evict_calls;
  reached_.faults = happened();
  reached_.digest = engine_.digest();
}

void Trial::audit() {
  engine_.audit();
  // A count that is wrong shows in the ledger's sum, after the next operation: one that every engine has.
  if (faults_ && faults_->lied) engine_.flush(NamespaceId::shared);
  ++reached_.audits;
}

/// What is wrong, unless a component lied: then that it is known.
void Trial::look(const char* after) {
  const bool wrong = engine_.ledger().violations() > 0 || content_.violations() > 0;
  if (faults_ && faults_->lied && !over_) {
    if (!wrong)
      disagree("after {}: a component lied ({}), and nothing noticed", after,
               lie_names()[static_cast<std::size_t>(faults_->lie)]);
    over_ = true;
    ++reached_.lies;
  }
  if (over_ || !wrong) return;
  disagree("after {}: {}", after,
           engine_.ledger().violations() > 0 ? engine_.ledger().reports()[0] : content_.reports()[0]);
}

Trial::Live* Trial::find(std::uint64_t name) {
  const auto found = std::ranges::find(lives_, name, &Live::name);
  return found == lives_.end() ? nullptr : &*found;
}

NamespaceId Trial::space_of(std::uint32_t number) {
  if (interned_[number]) return spaces_[number];
  const NamespaceId id = engine_.intern(tuple_of(number));
  for (std::uint32_t other = 0; other < kMostSpaces; ++other)
    if (interned_[other] && spaces_[other] == id)
      disagree("namespaces {} and {} are different tuples, and the engine makes one of them", other, number);
  interned_[number] = true;
  return spaces_[number] = id;
}

/// Whether a request fits beside a prefix of `matched` tokens into pools that hold nothing else.
bool Trial::fits_beside(std::uint32_t matched, const RequestSpec& spec) const {
  std::uint64_t kept = 1;  // where no group holds the whole path, a lock keeps a page
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
  // The bytes of a token follow from the number of its namespace here, not from the engine's.
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
  start(spec, operation.request, operation.space);
  return true;
}

/// A request that was told it can run now, runs: alone and at once, as it said it would.
bool Trial::serve(const Operation& operation) {
  constexpr std::uint64_t kName = ~std::uint64_t{0};
  RequestSpec spec{operation.tokens, space_of(operation.space)};
  spec.output_limit = operation.output;
  spec.chunk = operation.chunk;
  const Admission admission = engine_.admits(spec);
  const std::uint64_t had = happened();
  // A fetch whose handle is gone runs to its end, and has pages until then.
  const bool fetches = !fetches_.empty() || engine_.next_end_us() != kUnlimited;
  if (admission.verdict == Admission::Verdict::wait && lives_.empty() && pins_.empty() && !fetches && !may_fail(had))
    disagree("nothing runs and nothing is pinned, and a request is told to wait: {}", admission.reason);
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
      disagree("a request of {} tokens was promised its pages and had none at {}", total, computed);
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

/// Pages that are free or that the pool may grow by: what a reservation in vain must not change.
std::uint64_t Trial::may_have(std::size_t group) const {
  return engine_.pool(group).allocator().occupancy().free + engine_.pool(group).growable();
}

bool Trial::reserve(Live& live, std::uint64_t tokens, std::uint64_t soon) {
  // Not more than a few pages beyond what is known: a pool without a limit would take all there is.
  const std::uint64_t most = live.known() + 4 * std::uint64_t{engine_.page_size()};
  const auto until = static_cast<std::uint32_t>(std::min(tokens, most));
  std::array<std::uint64_t, kMaxGroups> before{};
  bool asks_again = false;  // a pool that was refused memory may find some now, and grows
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

/// Some group has fewer pages than a reservation wants, counting all that may be evicted or had from the system.
void Trial::must_not_fit(const Live& live, std::uint64_t tokens, std::uint64_t soon) const {
  if (draining()) return;  // what is evicted from a segment that drains is not free afterwards
  for (std::size_t g = 0; g < engine_.groups(); ++g) {
    const PageNeeds& needs = engine_.pool(g).needs();
    const std::size_t length = live.request.row(g).size();
    const std::size_t wanted = needs.row_length(needs.whole_path() ? tokens : std::min(tokens, soon));
    if (wanted <= length) continue;
    if (needs.count(length, wanted) > may_have(g) + engine_.index().sizes(g).evictable / engine_.page_size()) return;
  }
  disagree("a reservation of {} tokens was refused, and every group has the pages", tokens);
}

/// So many tokens are computed, as far as there are pages for them.
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
  const bool was_draining = draining();  // then what it leaves may have to go at once
  const std::uint64_t had = happened();
  const NamespaceId space = spaces_[live.space];
  live.request.finish(until);
  drop(live);
  ++reached_.finished;
  // What it leaves can be matched up to its last boundary, unless that one was committed earlier: since then its
  // window may have left.
  const PageNeeds& needs = engine_.pool(0).needs();
  const std::uint32_t period = engine_.page_size() * needs.grid;
  const std::uint32_t boundary = (until - std::min(until, needs.overlap)) / period * period;
  const bool keeps = inserts_at_finish_ && engine_.index().now() > 0;  // the null index has no clock
  if (keeps && !was_draining && !may_fail(had) && boundary > committed && residence_.of(left_, space) < boundary)
    disagree("a request finished with {} tokens, and only {} of them can be matched", until,
             residence_.of(left_, space));
  return true;
}

/// The request ends here, aborted if it has not ended. Others may stand in another place then.
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

/// What the index has beyond that a request has computed is its own from now on, to the last byte.
bool Trial::rematch(Live& live) {
  const std::uint32_t computed = live.request.computed();
  const std::uint64_t had = happened();
  const std::uint32_t gained = live.request.rematch();
  if (faults_ && faults_->lied) return true;
  expect_equal("tokens computed after a rematch", live.request.computed(), computed + gained);
  if (gained == 0) return true;
  const std::uint32_t expected = residence_.of(live.request.tokens(), spaces_[live.space]);
  if (!may_fail(had) && computed + gained > expected)
    disagree("a rematch reached {} tokens, and {} are resident", computed + gained, expected);
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

bool Trial::flush(std::uint32_t number) {
  const NamespaceId space = space_of(number);
  reached_.flushed += engine_.flush(space);
  expect_equal("evictable units after a flush", engine_.index().sizes(0, space).evictable, std::uint64_t{0});
  return true;
}

bool Trial::use_policy(std::size_t group, const std::string& name) {
  auto policy = registry_.make<EvictionStrategy>(name, {});
  if (!policy) disagree("policy {}: {}", name, policy.error().text);
  engine_.use_policy(group, *policy, name);
  return true;
}

bool Trial::resize(std::size_t group, std::uint64_t pages) {
  const std::uint64_t had = happened(), limit = std::max<std::uint64_t>(pages, 1);
  engine_.resize(group, pages);
  const Pool& pool = engine_.pool(group);
  std::uint64_t waits = 0, leaving = 0;
  for (const Blocker& blocker : engine_.blockers(group)) waits += blocker.pages;
  for (const PoolSegment& segment : pool.segments()) leaving += segment.draining;
  if (pool.offered() > limit) disagree("a pool limited to {} pages offers {}", limit, pool.offered());
  // Several requests may hold one page. What a relocation in vain leaves behind waits for nothing.
  if (waits < leaving && !may_fail(had)) disagree("{} pages leave, and requests hold {} of them", leaving, waits);
  ++reached_.resized;
  reached_.blocked += leaving > 0;
  reached_.drained += leaving == 0;
  return true;
}

bool Trial::pin(std::uint64_t place) {
  struct Nodes final : NodeVisitor {
    std::vector<NodeId> ids;
    void node(const NodeView& node) override { ids.push_back(node.facts.id); }
  } nodes;
  engine_.index().visit(nodes);
  if (nodes.ids.empty()) return false;
  const NodeId node = nodes.ids[place % nodes.ids.size()];
  if (!engine_.pin(node)) return false;
  pins_.push_back(node);
  ++reached_.pinned;
  return true;
}

bool Trial::unpin(std::uint64_t place) {
  if (pins_.empty()) return false;
  const auto at = pins_.begin() + static_cast<std::ptrdiff_t>(place % pins_.size());
  if (!engine_.unpin(*at)) disagree("a pinned node is not known as pinned");
  pins_.erase(at);
  return true;
}

/// For a request that begins later, or never.
bool Trial::fetch(const Operation& operation) {
  constexpr std::size_t kMost = 4;
  if (!engine_.host_tier() || find(operation.request)) return false;
  RequestSpec spec{operation.tokens, space_of(operation.space)};
  spec.min_uncached = operation.leave;
  const std::uint64_t loaded = engine_.tier_figures().loaded_tokens;
  fetches_.emplace_back(operation.request, engine_.fetch(spec));
  reached_.fetched += engine_.tier_figures().loaded_tokens - loaded;
  if (fetches_.size() > kMost) fetches_.erase(fetches_.begin());
  return true;
}

Fetch Trial::fetched_for(std::uint64_t name) {
  const auto found = std::ranges::find(fetches_, name, &std::pair<std::uint64_t, Fetch>::first);
  if (found == fetches_.end()) return {};
  Fetch fetch = std::move(found->second);
  fetches_.erase(found);
  return fetch;
}

void Trial::turn(std::uint64_t us) { engine_.turn(now_us_ += us); }

/// A component will fail or lie.
bool Trial::arm(const Operation& operation) {
  if (!faults_) return false;
  const std::uint64_t in = std::max<std::uint64_t>(operation.count, 1);
  if (operation.verb == Verb::refuse_pages) faults_->groups[operation.group].pages = in;
  else if (operation.verb == Verb::refuse_memory) faults_->groups[operation.group].memory = in;
  else if (operation.verb == Verb::refuse_insert) faults_->insert = in;
  else faults_->lie = *lie_of(operation.name), faults_->liar = operation.group, faults_->lies_in = in;
  return true;
}

/// Every request has ended: no pool waits for anything, and under the least limit one page is left.
void Trial::everything_leaves() {
  expect_equal("nodes of an index that was flushed", engine_.index().use().nodes, std::uint64_t{0});
  for (std::size_t g = 0; g < engine_.groups(); ++g) {
    const Occupancy occupancy = engine_.pool(g).occupancy();
    expect_equal("free pages when every request has ended", occupancy.free, occupancy.capacity);
    engine_.resize(g, 1);
    const Pool& pool = engine_.pool(g);
    expect_equal("pages that leave", pool.draining(), false);
    if (pool.occupancy().capacity > 1) disagree("a pool limited to one page has {}", pool.occupancy().capacity);
  }
}

}  // namespace canopy::check
