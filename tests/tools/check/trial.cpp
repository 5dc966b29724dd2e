#include "trial.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <new>
#include <string>
#include <utility>

#include <program/mismatch.h>

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

Trial::Trial(Engine& engine, const Registry& registry, Faults* faults, bool inserts_at_finish, std::uint32_t flips)
    : engine_(&engine), registry_(registry), faults_(faults), inserts_at_finish_(inserts_at_finish), flips_(flips) {
  lives_.reserve(16);
  parts_.emplace(engine, flips_);
  for (std::size_t g = 0; g < engine.groups(); ++g) limits_[g] = engine.pool(g).limit();
}

Trial::Trial(Subject& subject, const Registry& registry, unsigned rank)
    : Trial(subject.engine(), registry, &subject.faults, subject.config().insert_at_finish,
            flips_of(subject.config())) {
  subject_ = &subject;
  rank_ = rank;
  for (const GroupConfig& group : subject.config().groups) few_a_path_ |= group.max_per_path > 0;
  for (std::size_t g = 0; g < engine_->groups(); ++g)  // the configured ones, whatever memory there was
    if (const std::uint64_t tokens = subject.config().groups[g].capacity; tokens != kUnlimited)
      limits_[g] = tokens / engine_->page_size();
}

Trial::~Trial() { end_child(); }

bool Trial::apply(const Operation& operation) {
  refused_ = false;
  left_.clear();
  ++reached_.operations;
  bool done = false;
  const auto tenant = tenant_of(operation);
  const std::uint64_t damaged = engine_->tiers().counters()[Counter::damaged_records_storage];
  const bool may_lack = faults_ && faults_->groups[0].memory > 0;
  const std::uint64_t scarce_before = scarce();
  try {
    try {
      done = do_it(operation);
      check_refused(damaged);
      use_wrong_image();
    } catch (const std::bad_alloc&) {
      if (scarce() == scarce_before) throw;
      for (std::size_t i = lives_.size(); i-- > 0;)
        if (lives_[i].request.ended() || lives_[i].name.empty()) drop(lives_[i]);
    }
    if (!faults_ || !faults_->lied)
      parts_->tenancy.check(tenant, operation.verb == Verb::reserve,
                            scarce() != scarce_before || (may_lack && faults_->groups[0].memory == 0));
  } catch (const test::Mismatch&) {
    if (!faults_ || !faults_->lied) throw;
    over_ = true;  // noticed here
    ++reached_.lies;
    return true;
  }
  if (scarce() != scarce_before) forgive();
  else if (reached_.operations % kAuditEvery == 0 || (faults_ && faults_->lied)) audit();
  look("an operation");
  if (!over_ && reached_.operations % 8 == 0) check_kept();
  return done;
}

/// Accepts reports of memory that was refused. All the rest must be right, which the audit shows.
void Trial::forgive() {
  const std::vector<std::string>& reports = engine_->ledger().reports();
  const std::uint64_t had = engine_->ledger().violations();
  for (; forgiven_ < std::min<std::uint64_t>(had, reports.size()); ++forgiven_)
    if (!is_of_memory(reports[forgiven_])) return;
  forgiven_ = had;
  audit();
  if (engine_->ledger().violations() > had && faults_->lied) {  // it is the lie
    over_ = true;
    ++reached_.lies;
    return;
  }
  if (engine_->ledger().violations() > had)
    disagree("after an operation in which memory was refused, the audit: {}",
             had < reports.size() ? reports[had] : std::string("there are more reports than the ledger keeps"));
  if (over_ || had == 0 || reports.size() < 8) return;
  over_ = true;  // further reports are not kept
  ++reached_.unproved;
}

/// Returns true if a report says what memory was refused to, or what follows from it: a policy that threw is replaced,
/// a flush cannot reach the storage. Ranks whose storages end calls at other times are refused memory at other places.
bool Trial::is_of_memory(std::string_view report) const {
  const auto has = [&](std::string_view words) { return report.find(words) != report.npos; };
  return has("bad_alloc") || has("memory") || has(" threw, and ") || has(" was out of reach") ||
         has(" could not flush ") || (has("ranks: ") && engine_->tiers().has_storage());
}

/// Returns the tenant whose operation it is; nothing if it is no tenant's, or of several.
std::optional<std::string_view> Trial::tenant_of(const Operation& operation) const {
  switch (operation.verb) {
    case Verb::begin:
    case Verb::serve:
    case Verb::fetch:
      return tuple_of(number_of(operation.space)).tenant;
    case Verb::reserve:
    case Verb::advance:
    case Verb::commit:
    case Verb::rematch:
    case Verb::finish:
    case Verb::abort:
    case Verb::retract:
    case Verb::resume:
      for (const Live& live : lives_)
        if (live.name == operation.name) return tuple_of(live.space).tenant;
      return {};
    default:
      return {};
  }
}

std::size_t Trial::group_of(const Operation& operation) const {
  for (std::size_t g = 0; g < engine_->groups(); ++g)
    if (engine_->pool(g).group() == operation.group) return g;
  return 0;
}

bool Trial::do_it(const Operation& operation) {
  const std::uint64_t count = operation.number();
  switch (operation.verb) {
    case Verb::begin:
      return begin(operation);
    case Verb::serve:
      return serve(operation);
    case Verb::flush:
      return flush(number_of(operation.space));
    case Verb::policy:
      return use_policy(group_of(operation), operation.to);
    case Verb::resize:
      return resize(group_of(operation), count);
    case Verb::room:
      return ask([&] { return engine_->make_free(group_of(operation), count); });
    case Verb::pin:
      return pin(count);
    case Verb::unpin:
      return unpin(count);
    case Verb::poll:
      return ask([&] { return engine_->poll(); });
    case Verb::fetch:
      return fetch(operation);
    case Verb::turn: {
      // Nodes that leave a pool above its limit take pages of the host tier at the end of a turn.
      const bool quiet = engine_->tiers().has_storage() && may_not_fail() && engine_->pool(0).surplus() == 0;
      turn(count);
      if (quiet) check_ahead();
      return true;
    }
    case Verb::bring:
      return bring(operation);
    case Verb::share:
      return set_share(operation);
    case Verb::flush_unknown:
      return flush_unknown();
    case Verb::reopen:
      return reopen(operation.name);
    case Verb::fork:
      return fork();
    case Verb::refuse_pages:
    case Verb::refuse_memory:
    case Verb::refuse_insert:
    case Verb::refuse_remap:
    case Verb::refuse_new:
    case Verb::lie:
      return arm(operation);
    default:
      break;
  }
  Live* live = find(operation.name);
  if (!live) return false;
  if (operation.verb == Verb::resume) return resume(*live);
  if (operation.verb == Verb::abort) {
    drop(*live);
    ++reached_.aborted;
    return true;
  }
  if (live->aside) return false;
  const std::uint64_t tokens = operation.count.value_or(live->known());
  switch (operation.verb) {
    case Verb::reserve:
      return reserve(*live, tokens, operation.soon ? operation.soon : tokens);
    case Verb::append:
      for (const Token token : operation.words) ask([&] { live->request.append(token); });
      live->trail.follow(live->request.tokens());
      return true;
    case Verb::advance:
    case Verb::commit:
      return move_on(*live, tokens, operation.verb == Verb::commit);
    case Verb::rematch:
      return rematch(*live);
    case Verb::finish:
      return finish(*live, tokens);
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
  if (parts_->tenancy.any()) turn(kUnlimited / 4);  // all retention ends
  for (std::uint32_t i = 0; i < engine_->spaces(); ++i) engine_->flush(static_cast<NamespaceId>(i));
  audit();
  look("the end");
  if (!over_ && happened() > 0) recovers();
  if (!over_) everything_leaves();
  if (!over_) look("the least limit");
  reached_.evictions += engine_->counters().evict_calls;
  reached_.faults = happened() - scarce(), reached_.scarce = scarce();
  reached_.digest += engine_->digest();
}

void Trial::audit() {
  engine_->audit();
  // A wrong count shows in the ledger's sum after the next operation, so here is one that every engine has.
  if (faults_ && faults_->lied) engine_->flush(NamespaceId::shared);
  else if (subject_ && scarce() == 0) check_figures();
  ++reached_.audits;
}

/// Compares what the engine has counted with what this trial has.
void Trial::check_figures() {
  const Counters& has = engine_->counters();
  expect_equal("requests", has.requests, counters_.requests);
  expect_equal("tokens of prompts", has.prompt_tokens, counters_.prompt_tokens);
  expect_equal("tokens found", has.hit_tokens, counters_.hit_tokens);
  expect_equal("finished requests", has.finished, counters_.finished);
  expect_equal("aborted requests", has.aborted, counters_.aborted);
  expect_equal("requests that were never admitted", has.tries, counters_.tries);
  expect_equal("retracted requests", has.retracted, counters_.retracted);
  if (!parts_->tenancy.any()) return;
  std::uint64_t requests = 0, prompts = 0;
  for (const TenantUse& of : engine_->tenants()) requests += of.requests, prompts += of.prompt_tokens;
  expect_equal("requests of all tenants", requests, counters_.requests);
  expect_equal("tokens of their prompts", prompts, counters_.prompt_tokens);
}

/// Checks that one of the prefixes under retention is there.
void Trial::check_kept() {
  std::erase_if(kept_, [&](const Kept& kept) { return kept.until_us <= now_us_; });
  if (kept_.empty() || (faults_ && faults_->lied)) return;
  const Kept& kept = kept_[reached_.operations / 8 % kept_.size()];
  if (const std::uint32_t has = parts_->residence.of(kept.tokens, spaces_[kept.space]); has < kept.length)
    disagree("{} tokens are kept until {} us, and at {} us only {} of them are there", kept.length, kept.until_us,
             now_us_, has);
}

/// Throws a Mismatch if something is wrong. If a component lied, throws one if nothing is wrong.
void Trial::look(const char* after) {
  if ((scarce() > 0 || may_part()) && engine_->ledger().violations() > forgiven_) forgive();
  const bool reported = engine_->ledger().violations() > forgiven_,
             wrong = reported || parts_->content.violations() > 0;
  if (faults_ && faults_->lied && !over_) {
    if (!wrong)
      disagree("after {}: a component lied ({}), and no check detected it", after,
               lie_names()[static_cast<std::size_t>(faults_->lie)]);
    over_ = true;
    ++reached_.lies;
  }
  if (over_ || !wrong) return;
  const auto& reports = engine_->ledger().reports();
  disagree("after {}: {}", after,
           !reported                    ? parts_->content.reports()[0]
           : forgiven_ < reports.size() ? reports[forgiven_]
                                        : std::string("there are more reports than the ledger keeps"));
}

Trial::Live* Trial::find(std::string_view name) {
  const auto found = std::ranges::find(lives_, name, &Live::name);
  return found == lives_.end() ? nullptr : &*found;
}

NamespaceId Trial::space_of(std::uint32_t number) {
  if (interned_[number]) return spaces_[number];
  const NamespaceId id = ask([&] { return engine_->intern(tuple_of(number)); });
  if (scarce() > 0 && static_cast<std::size_t>(id) >= engine_->spaces()) throw std::bad_alloc();  // it reported nothing
  for (std::uint32_t other = 0; other < kMostSpaces; ++other)
    if (interned_[other] && spaces_[other] == id)
      disagree("namespaces {} and {} are different tuples, but one namespace in the engine", other, number);
  interned_[number] = true;
  return spaces_[number] = id;
}

bool Trial::flush(std::uint32_t number) {
  const NamespaceId space = space_of(number);
  const std::uint64_t had = happened();
  std::erase_if(kept_, [&](const Kept& kept) { return kept.space == number; });
  reached_.flushed += ask([&] { return engine_->flush(space); });
  if (may_fail(had)) return true;
  expect_equal("evictable units after a flush", engine_->index().sizes(0, space).evictable, std::uint64_t{0});
  if (!pins_.empty()) return true;  // the path is unknown
  // Nodes that requests hold stay, and so do those that fetches have brought, or hold while they bring the rest.
  known_[number].clear();
  for (const Live& live : lives_)
    if (live.space == number)
      known_[number].add(live.request.tokens().first(std::max(live.request.committed(), live.request.matched())));
  for (const Awaited& fetch : fetches_)
    if (fetch.space == number)
      known_[number].add(
          std::span(fetch.tokens)
              .first(fetch.fetch.done() ? fetch.tokens.size() : parts_->residence.of(fetch.tokens, space)));
  for (const auto& [tokens, of] : dropped_)
    if (of == number) known_[number].add(std::span(tokens).first(parts_->residence.of(tokens, space)));
  return true;
}

/// Flushes a namespace that the engine does not know. It may say so, and does nothing.
bool Trial::flush_unknown() {
  const std::uint64_t violations = engine_->ledger().violations();
  expect_equal("tokens of an unknown namespace",
               ask([&] { return engine_->flush(static_cast<NamespaceId>(engine_->spaces() + 1'000'000)); }),
               std::uint64_t{0});
  if (forgiven_ == violations) forgiven_ = std::min(engine_->ledger().violations(), violations + 1);
  return true;
}

bool Trial::use_policy(std::size_t group, const std::string& wanted) {
  const std::string name = wanted.empty() ? engine_->policy(group) : wanted;  // a new one of the same name
  auto policy = registry_.make<EvictionStrategy>(name, {});
  if (!policy) disagree("policy {}: {}", name, policy.error().text);
  return static_cast<bool>(ask([&] { return engine_->use_policy(group, *policy, name); }));
}

bool Trial::resize(std::size_t group, std::uint64_t pages) {
  const std::uint64_t had = happened(), limit = std::max<std::uint64_t>(pages, 1);
  ask([&] { engine_->resize(group, pages); });
  limits_[group] = limit;
  const PoolView pool = engine_->pool(group);
  std::uint64_t waits = 0, leaving = 0;
  for (const Blocker& blocker : engine_->blockers(group)) waits += blocker.pages;
  for (const PoolSegment& segment : pool.segments()) leaving += segment.draining;
  if (pool.offered() > limit && !may_fail(had))
    disagree("a pool with a limit of {} pages offers {}", limit, pool.offered());
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
  engine_->index().visit(nodes);
  if (nodes.ids.empty()) return false;
  const NodeId node = nodes.ids[place % nodes.ids.size()];
  if (!ask([&] { return engine_->pin(node); })) return false;
  pins_.push_back(node);
  ++reached_.pinned;
  return true;
}

bool Trial::unpin(std::uint64_t place) {
  if (pins_.empty()) return false;
  const auto at = pins_.begin() + static_cast<std::ptrdiff_t>(place % pins_.size());
  if (!ask([&] { return engine_->unpin(*at); })) disagree("unpin() does not find a pinned node");
  pins_.erase(at);
  return true;
}

/// Gives a tenant another share, if its floor fits beside the others.
bool Trial::set_share(const Operation& operation) {
  if (!parts_->tenancy.any() || operation.name == "*" || operation.name.empty()) return false;
  TenantShare share{.floor = operation.number(), .pins = operation.pins};
  if (operation.ceiling > 0) share.ceiling = operation.ceiling;
  return static_cast<bool>(ask([&] { return engine_->set_share(operation.name, share); }));
}

/// Lets time pass. Each rank has a clock of its own, and the least of all counts.
void Trial::turn(std::uint64_t us) {
  now_us_ += us;
  ask([&] { engine_->turn(now_us_ + rank_ * (reached_.operations % 7) * 300); });
}

/// Lets a child of the process destroy its copy of the engine. It stays until the engine has ended.
bool Trial::fork() {
  if (!subject_ || rank_ != 0 || child_ > 0) return false;
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return false;
  child_ = ::fork();
  if (child_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::close(ends[0]);
    lives_.clear();
    fetches_.clear();
    parts_.reset();
    subject_->end();
    static_cast<void>(!::write(ends[1], "", 1));
    for (;;) ::pause();
  }
  ::close(ends[1]);
  pollfd waits{ends[0], POLLIN, 0};
  constexpr int kPatienceMs = 20'000;
  const bool came = child_ > 0 && ::poll(&waits, 1, kPatienceMs) == 1;
  char byte = 0;
  const bool ended = came && ::read(ends[0], &byte, 1) == 1;
  ::close(ends[0]);
  if (child_ < 0) return child_ = 0, false;
  if (ended) return ++reached_.forks, true;
  end_child();
  disagree("a child of the process {} where it destroys its copy of the engine", came ? "crashes" : "hangs");
}

void Trial::end_child() {
  if (child_ <= 0) return;
  ::kill(child_, SIGKILL);
  while (::waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
  }
  child_ = 0;
}

/// Arms a fault or a lie of a component.
bool Trial::arm(const Operation& operation) {
  if (!faults_) return false;
  const std::uint64_t in = std::max<std::uint64_t>(operation.number(), 1);
  const std::size_t group = group_of(operation);
  if (operation.verb == Verb::refuse_pages) faults_->groups[group].pages = in;
  else if (operation.verb == Verb::refuse_memory) faults_->groups[group].memory = in;
  else if (operation.verb == Verb::refuse_insert) faults_->insert = in;
  else if (operation.verb == Verb::refuse_remap) faults_->remap = in;
  else if (operation.verb == Verb::refuse_new) faults_->scarcity.arm(in, std::max<std::uint64_t>(operation.times, 1));
  else faults_->lie = *lie_of(operation.name), faults_->liar = group, faults_->lies_in = in;
  return true;
}

/// Checks that after the end of all requests no pool waits for anything, and that one page is left under the least
/// limit.
void Trial::everything_leaves() {
  expect_equal("nodes of an index that was flushed", engine_->index().use().nodes, std::uint64_t{0});
  for (std::size_t g = 0; g < engine_->groups(); ++g) {
    const Occupancy occupancy = engine_->pool(g).occupancy();
    expect_equal("free pages when every request has ended", occupancy.free, occupancy.capacity);
    engine_->resize(g, 1);
    const PoolView pool = engine_->pool(g);
    expect_equal("a pool is draining", pool.draining(), false);
    if (pool.occupancy().capacity > 1) disagree("a pool with a limit of one page has {}", pool.occupancy().capacity);
  }
}

}  // namespace canopy::check
