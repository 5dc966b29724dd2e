/// The tiers below: what is fetched, put down and read by the next engine, and what a component below has done wrong.
#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include <cache/guard/index_port.h>
#include <engine/state_of.h>
#include <program/mismatch.h>
#include "trial.h"

namespace canopy::check {

using test::disagree;

/// Fetches for a request that begins later, or never.
bool Trial::fetch(const Operation& operation) {
  constexpr std::size_t kMost = 4;
  if (!engine_->tiers().has_host() || find(operation.name)) return false;
  RequestSpec spec{operation.words, space_of(number_of(operation.space))};
  if (operation.leave) spec.min_uncached = *operation.leave;
  const std::uint64_t loaded = engine_->tiers().counters()[Counter::loaded_tokens_host];
  Fetch fetch = ask([&] { return engine_->tiers().fetch(spec); });
  fetches_.push_back({operation.name, std::move(fetch), operation.words, number_of(operation.space)});
  reached_.fetched += engine_->tiers().counters()[Counter::loaded_tokens_host] - loaded;
  if (fetches_.size() > kMost) {
    forget(fetches_.front());
    fetches_.erase(fetches_.begin());
  }
  return true;
}

/// Remembers a fetch whose object goes: until its end it holds what it found.
void Trial::forget(const Awaited& fetch) {
  if (engine_->tiers().next_end_us() == kUnlimited) dropped_.clear();
  if (!fetch.fetch.done()) dropped_.emplace_back(fetch.tokens, fetch.space);
}

Fetch Trial::fetched_for(std::string_view name) {
  const auto found = std::ranges::find(fetches_, name, &Awaited::request);
  if (found == fetches_.end()) return {};
  forget(*found);
  Fetch fetch = std::move(found->fetch);
  fetches_.erase(found);
  return fetch;
}

/// Checks that nothing stays away for ever: while nothing runs, what the storage says it has of a prompt has to come,
/// and the host tier has to keep room for what comes next.
bool Trial::bring(const Operation& operation) {
  if (!engine_->tiers().has_storage() || (faults_ && faults_->lied)) return false;
  while (!lives_.empty()) drop(lives_.back());
  fetches_.clear();
  run_out();
  // The storage of another rank may have less, and then nothing is read.
  const bool sound = may_not_fail(), quiet = sound && engine_->pool(0).surplus() == 0;
  if (sound) turn(1000);
  if (quiet) check_ahead();
  if (faults_) faults_->pages_there = faults_->pages_read = 0;
  // A storage that lingers may answer too late for turns of a second.
  const auto late = [&] { return engine_->tiers().counters().at(Counter::fetches_storage, BringOutcome::late); };
  const std::uint64_t were_late = late();
  Operation fetched = operation;
  fetched.name.clear(), fetched.leave = 0;
  fetch(fetched);
  const NamespaceId space = space_of(number_of(operation.space));
  const auto& below = *state_of(*engine_).below;
  const std::uint64_t room = below.pools[0].free_pages() + below.pools[0].growable() +
                             below.index->component().sizes(0, space).evictable / engine_->page_size();
  run_out();
  if (sound && faults_->pages_there > 0 && faults_->pages_read == 0 && room > 0 && late() == were_late)
    disagree(
        "the storage has {} pages of a prompt, nothing else runs, {} pages of the host tier may be used, and none is "
        "read",
        faults_->pages_there, room);
  drop(start({operation.words, space}, {}, number_of(operation.space)));
  return true;
}

/// Returns true if nothing has failed in this engine's life and nothing will, so that what the storage has and lacks is
/// known: it is sound, the engine has one rank and one group without windows or states.
bool Trial::may_not_fail() const {
  return subject_ && subject_->sound() && subject_->config().model.ranks == 1 && engine_->groups() == 1 &&
         happened() == 0 && !may_fail(0) && engine_->pool(0).needs().whole_path();
}

/// Returns the pages of the host tier that an early eviction may take at least: nothing that a floor protects. Floors
/// that are together larger than the tier protect less than this counts.
std::uint64_t Trial::may_leave_early() const {
  const CacheState& below = *state_of(*engine_).below;
  const std::vector<TenantUse> tenants = engine_->tenants();
  if (tenants.empty()) return below.index->sizes(0).evictable / engine_->page_size();
  // Shares are in proportion to the capacities.
  const std::uint64_t pool = subject_->config().groups[0].capacity, tier = subject_->config().host_tier.capacity;
  const double part = pool == kUnlimited ? 1 : static_cast<double>(tier) / static_cast<double>(pool);
  std::uint64_t pages = 0;
  for (std::size_t i = 0; i < tenants.size(); ++i) {
    const Sizes sizes = below.index->sizes(0, static_cast<TenantId>(i));
    const auto floor = static_cast<std::uint64_t>(std::ceil(static_cast<double>(tenants[i].share.floor) * part));
    const std::uint64_t held = sizes.evictable + sizes.protected_, above = held - std::min(held, floor);
    pages += std::min(sizes.evictable, above) / engine_->page_size();
  }
  return pages;
}

/// Checks after a turn that the host tier has the room that puts have to keep free, or that it is on its way to the
/// storage.
void Trial::check_ahead() {
  const StorageTierConfig& config = subject_->config().storage_tier;
  const CacheState& below = *state_of(*engine_).below;
  if (config.write != PutPolicy::on_evict || state_of(*engine_).board.health.state != StorageState::closed) return;
  const std::uint64_t put_bytes = engine_->tiers().counters().at(Counter::pending_bytes_storage, StorageLane::put),
                      leaves = put_bytes / faults_->record_bytes,
                      free = below.pools[0].free_pages() + below.pools[0].growable(),
                      wanted = (below.pools[0].limit() * config.kept_free_percent + 99) / 100,
                      evictable = may_leave_early();
  if (put_bytes + faults_->record_bytes > config.in_flight_bytes) return;
  if (free + leaves < wanted && evictable > 0)
    disagree(
        "{} pages of the host tier are free after a turn and {} are put, of {} that puts keep free, although {} more "
        "could leave",
        free, leaves, wanted, evictable);
}

/// Ends the engine, and goes on with another one over the same storage.
bool Trial::reopen(const std::string& index) {
  if (!subject_ || (faults_ && faults_->lied)) return false;
  faults_->disarm();
  while (!lives_.empty()) drop(lives_.back());
  fetches_.clear();
  run_out();
  audit();
  look("the end of an engine");
  if (over_) return true;
  reached_.evictions += engine_->counters().evict_calls;
  reached_.digest += engine_->digest();
  const bool forgets = !engine_->tiers().has_storage();
  parts_.reset();
  pins_.clear();
  kept_.clear();
  if (const auto again = subject_->reopen(index, registry_); !again)
    disagree("another engine over the same storage is refused: {}", again.error().text);
  end_child();
  engine_ = &subject_->engine();
  parts_.emplace(*engine_, flips_);
  interned_ = {};
  counters_ = {};
  forgiven_ = 0;
  for (std::size_t g = 0; g < engine_->groups(); ++g) {
    limits_[g] = engine_->pool(g).limit();
    if (const std::uint64_t tokens = subject_->config().groups[g].capacity; tokens != kUnlimited)
      limits_[g] = tokens / engine_->page_size();
  }
  for (Known& known : known_)
    if (forgets) known.clear();
  turn(0);  // the engine has a clock of its own
  ++reached_.reopened;
  // Records that the former engine put are read by this one, whatever their indexes are.
  for (const Operation& recent : recent_)
    if (!recent.words.empty() && !over_) bring(recent);
  return true;
}

/// Lets all that moves between the tiers end.
void Trial::run_out() {
  constexpr int kMost = 20'000;
  int turns = 0;
  while (engine_->tiers().next_end_us() != kUnlimited) {
    if (++turns > kMost) disagree("what moves between the tiers has not ended after {} turns", kMost);
    turn(1'000'000);
  }
  dropped_.clear();
}

/// After a lie of a storage: counts it if the engine has refused a record. The trial goes on: no such record may be
/// used.
void Trial::check_refused(std::uint64_t damaged) {
  if (!faults_ || !faults_->lied || faults_->lie < kFirstOfStorage) return;
  faults_->lied = false;
  reached_.lies += engine_->tiers().counters()[Counter::damaged_records_storage] > damaged;
}

/// After a store has restored a wrong page from the host tier: begins a request that reuses this page. If the page has
/// left already, the lie has no effect. If no request can reuse it now, one may later: the trial ends unproved.
void Trial::use_wrong_image() {
  if (!faults_ || !faults_->lied || faults_->lie != Lie::wrong_image) return;
  run_out();
  struct Paths final : NodeVisitor {
    std::uint32_t flips = 0;
    std::map<NodeId, std::vector<Token>> paths;
    NodeId with = NodeId::none;  ///< node that has the page
    NamespaceId space{};
    Units from = 0;  ///< units up to the end of the page
    Page page = 0;
    std::size_t group = 0, page_size = 1;
    void node(const NodeView& node) override {
      std::vector<Token> path = paths[node.parent];
      path.resize(node.facts.begin);
      for (const std::uint32_t word : node.words) path.push_back(word ^ flips);
      paths[node.facts.id] = std::move(path);
      const auto found = std::ranges::find(node.pages[group], page);
      if (found == node.pages[group].end()) return;
      from = node.facts.begin + static_cast<Units>((found - node.pages[group].begin() + 1) * std::ptrdiff_t(page_size));
      with = node.facts.id;
      space = node.facts.space;
    }
  } nodes;
  nodes.flips = flips_;
  nodes.page = faults_->page;
  nodes.group = faults_->liar;
  nodes.page_size = engine_->page_size();
  engine_->index().visit(nodes);
  const auto number = static_cast<std::uint32_t>(std::ranges::find(spaces_, nodes.space) - spaces_.begin());
  faults_->lied = false;
  if (nodes.with == NodeId::none) return;
  const std::vector<Token>& path = nodes.paths[nodes.with];
  for (std::size_t end = nodes.from; end <= path.size(); ++end) {
    const Request request = engine_->begin({std::span(path).first(end), nodes.space});
    const auto row = request.row(nodes.group);
    if (std::ranges::find(row, nodes.page) == row.end()) continue;
    replay::Trail trail(static_cast<NamespaceId>(number));
    trail.follow(request.tokens());
    faults_->lied = true;
    return parts_->content.check(request, trail, 0, request.matched());
  }
  over_ = true;
}

/// Checks that an engine that was refused memory uses what there is later: requests get pages, and the host tier
/// copies.
void Trial::recovers() {
  const std::uint32_t tokens = engine_->page_size() * engine_->pool(0).needs().grid + 2;
  const std::vector<Token> prompt(tokens, 1);
  const RequestSpec spec{prompt, NamespaceId::shared};
  std::uint32_t tries = 64;
  for (std::size_t g = 0; g < engine_->groups(); ++g) {
    const PageNeeds& needs = engine_->pool(g).needs();
    if (needs.peak(0, 0, tokens, tokens, 0) + 1 > limits_[g]) return;
    tries += 2 * engine_->pool(g).segment_pages();
  }
  const Tiers& tiers = engine_->tiers();
  const bool copies = tiers.has_host() && state_of(*engine_).board.health.ranks != RanksState::stopped &&
                      inserts_at_finish_ && subject_ && engine_->index().now() > 0 &&
                      subject_->config().host_tier.write != WritePolicy::none && !parts_->tenancy.any();
  bool ran = false;
  const auto written = [&] { return tiers.counters()[Counter::written_tokens_host]; };
  const std::uint64_t before = written();
  for (; tries > 0 && !(ran && (written() > before || !copies)); --tries) {
    Request request = engine_->begin(spec);
    if (request.reserve(tokens)) {
      ran = true;
      request.finish(tokens);
    } else {
      request.abort();
    }
    for (std::size_t g = 0; ran && copies && g < engine_->groups(); ++g) {
      engine_->resize(g,
                      std::max<std::uint64_t>(engine_->pool(g).offered(), 1));  // it cannot grow: pages have to leave
      engine_->make_free(g, engine_->pool(g).limit());
    }
    run_out();
    engine_->flush(NamespaceId::shared);
    run_out();
  }
  if (!ran)
    disagree("no memory is refused now, and a request of {} tokens gets no pages: {}", tokens,
             engine_->pool(0).memory());
  if (tries == 0) disagree("no memory is refused now, and nothing is copied to the host tier");
}

}  // namespace canopy::check
