#include "trial.h"

#include <algorithm>
#include <map>
#include <string>

#include <conformance/model/mismatch.h>

namespace canopy::check {

using test::disagree;
using test::expect_equal;

namespace {

constexpr std::uint32_t kAuditEvery = 64;

/// Returns the tuple of a namespace. The tuples differ in only one part, so that a part which is left out of a key is
/// detected.
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
      residence_(engine),
      tenancy_(engine) {
  lives_.reserve(16);
}

bool Trial::apply(const Operation& operation) {
  refused_ = false;
  left_.clear();
  ++reached_.operations;
  bool done = false;
  const auto tenant = tenant_of(operation);
  const std::uint64_t damaged = engine_.tiers().counters()[Counter::damaged_records_storage];
  const bool may_lack = faults_ && faults_->groups[0].memory > 0;
  try {
    done = do_it(operation);
    check_refused(damaged);
    use_wrong_image();
    if (!faults_ || !faults_->lied)
      tenancy_.check(tenant, operation.verb == Verb::reserve, may_lack && faults_->groups[0].memory == 0);
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

/// Returns the tenant whose operation it is; nothing if it is no tenant's, or of several.
std::optional<std::string_view> Trial::tenant_of(const Operation& operation) const {
  switch (operation.verb) {
    case Verb::begin:
    case Verb::serve:
    case Verb::fetch:
      return tuple_of(operation.space).tenant;
    case Verb::reserve:
    case Verb::advance:
    case Verb::commit:
    case Verb::rematch:
    case Verb::finish:
    case Verb::abort:
    case Verb::retract:
    case Verb::resume:
      for (const Live& live : lives_)
        if (live.name == operation.request) return tuple_of(live.space).tenant;
      return {};
    default:
      return {};
  }
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
    case Verb::floor:
      return set_floor(operation.name, count);
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
  run_out();
  while (!pins_.empty()) unpin(0);
  if (tenancy_.any()) turn(kUnlimited / 4);  // all retention ends
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
  // A wrong count shows in the ledger's sum after the next operation, so here is one that every engine has.
  if (faults_ && faults_->lied) engine_.flush(NamespaceId::shared);
  ++reached_.audits;
}

/// Throws a Mismatch if something is wrong. If a component lied, throws one if nothing is wrong.
void Trial::look(const char* after) {
  const bool wrong = engine_.ledger().violations() > 0 || content_.violations() > 0;
  if (faults_ && faults_->lied && !over_) {
    if (!wrong)
      disagree("after {}: a component lied ({}), and no check detected it", after,
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
      disagree("namespaces {} and {} are different tuples, but one namespace in the engine", other, number);
  interned_[number] = true;
  return spaces_[number] = id;
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
  if (pool.offered() > limit) disagree("a pool with a limit of {} pages offers {}", limit, pool.offered());
  // Several requests may hold one page. After a relocation that failed, the remaining pages wait for nothing.
  if (waits < leaving && !may_fail(had))
    disagree("{} pages are draining, but requests hold only {} of them", leaving, waits);
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
  if (!engine_.unpin(*at)) disagree("unpin() does not find a pinned node");
  pins_.erase(at);
  return true;
}

/// Fetches for a request that begins later, or never.
bool Trial::fetch(const Operation& operation) {
  constexpr std::size_t kMost = 4;
  if (!engine_.tiers().has_host() || find(operation.request)) return false;
  RequestSpec spec{operation.tokens, space_of(operation.space)};
  spec.min_uncached = operation.leave;
  const std::uint64_t loaded = engine_.tiers().counters()[Counter::loaded_tokens_host];
  fetches_.emplace_back(operation.request, engine_.tiers().fetch(spec));
  reached_.fetched += engine_.tiers().counters()[Counter::loaded_tokens_host] - loaded;
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

/// Gives a tenant another floor, if it fits beside the others.
bool Trial::set_floor(const std::string& tenant, std::uint64_t floor) {
  for (const TenantUse& of : engine_.tenants()) {
    if (of.name != tenant || tenant == "*" || tenant.empty()) continue;
    TenantShare share = of.share;
    share.floor = floor;
    return static_cast<bool>(engine_.set_share(tenant, share));
  }
  return false;
}

void Trial::turn(std::uint64_t us) { engine_.turn(now_us_ += us); }

/// Arms a fault or a lie of a component.
bool Trial::arm(const Operation& operation) {
  if (!faults_) return false;
  const std::uint64_t in = std::max<std::uint64_t>(operation.count, 1);
  if (operation.verb == Verb::refuse_pages) faults_->groups[operation.group].pages = in;
  else if (operation.verb == Verb::refuse_memory) faults_->groups[operation.group].memory = in;
  else if (operation.verb == Verb::refuse_insert) faults_->insert = in;
  else faults_->lie = *lie_of(operation.name), faults_->liar = operation.group, faults_->lies_in = in;
  return true;
}

/// Lets all that moves between the tiers end.
void Trial::run_out() {
  while (engine_.tiers().next_end_us() != kUnlimited) turn(1'000'000);
}

/// After a lie of a storage: counts it if the engine has refused a record. The trial goes on: no such record may be
/// used.
void Trial::check_refused(std::uint64_t damaged) {
  if (!faults_ || !faults_->lied || faults_->lie < kFirstOfStorage) return;
  faults_->lied = false;
  reached_.lies += engine_.tiers().counters()[Counter::damaged_records_storage] > damaged;
}

/// After a store has restored a wrong page from the host tier: begins a request that reuses this page. If the page has
/// left already, the lie has no effect. If no request can reuse it now, one may later: the trial ends unproved.
void Trial::use_wrong_image() {
  if (!faults_ || !faults_->lied || faults_->lie != Lie::wrong_image) return;
  run_out();
  struct Paths final : NodeVisitor {
    std::map<NodeId, std::vector<Token>> paths;
    NodeId with = NodeId::none;  ///< node that has the page
    NamespaceId space{};
    Units from = 0;  ///< units up to the end of the page
    Page page = 0;
    std::size_t group = 0, page_size = 1;
    void node(const NodeView& node) override {
      std::vector<Token> path = paths[node.parent];
      path.resize(node.facts.begin);
      path.insert(path.end(), node.words.begin(), node.words.end());
      paths[node.facts.id] = std::move(path);
      const auto found = std::ranges::find(node.pages[group], page);
      if (found == node.pages[group].end()) return;
      from = node.facts.begin + static_cast<Units>((found - node.pages[group].begin() + 1) * std::ptrdiff_t(page_size));
      with = node.facts.id;
      space = node.facts.space;
    }
  } nodes;
  nodes.page = faults_->page;
  nodes.group = faults_->liar;
  nodes.page_size = engine_.page_size();
  engine_.index().visit(nodes);
  const auto number = static_cast<std::uint32_t>(std::ranges::find(spaces_, nodes.space) - spaces_.begin());
  faults_->lied = false;
  if (nodes.with == NodeId::none) return;
  const std::vector<Token>& path = nodes.paths[nodes.with];
  for (std::size_t end = nodes.from; end <= path.size(); ++end) {
    const Request request = engine_.begin({std::span(path).first(end), nodes.space});
    const auto row = request.row(nodes.group);
    if (std::ranges::find(row, nodes.page) == row.end()) continue;
    replay::Trail trail(static_cast<NamespaceId>(number));
    trail.follow(request.tokens());
    faults_->lied = true;
    return content_.check(request, trail, 0, request.matched());
  }
  over_ = true;
}

/// Checks that after the end of all requests no pool waits for anything, and that one page is left under the least
/// limit.
void Trial::everything_leaves() {
  expect_equal("nodes of an index that was flushed", engine_.index().use().nodes, std::uint64_t{0});
  for (std::size_t g = 0; g < engine_.groups(); ++g) {
    const Occupancy occupancy = engine_.pool(g).occupancy();
    expect_equal("free pages when every request has ended", occupancy.free, occupancy.capacity);
    engine_.resize(g, 1);
    const Pool& pool = engine_.pool(g);
    expect_equal("a pool is draining", pool.draining(), false);
    if (pool.occupancy().capacity > 1) disagree("a pool with a limit of one page has {}", pool.occupancy().capacity);
  }
}

}  // namespace canopy::check
