#include <canopy/engine/engine.h>
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "guard/index_port.h"
#include "impl.h"
#include "pages/call_guard.h"

namespace canopy {

Engine::Engine(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Engine::~Engine() = default;

const EngineState& state_of(const Engine& engine) { return engine.impl_->state; }

const std::string& Engine::name_of(NamespaceId space) const { return impl_->state.spaces.name_of(space); }
const EngineState* Engine::host_tier() const { return impl_->state.below; }
Units Engine::page_size() const { return impl_->state.page_size; }
std::uint32_t Engine::whole_pages(std::size_t tokens) const { return impl_->state.whole_pages(tokens); }
std::size_t Engine::groups() const { return impl_->state.pools.size(); }
const Counters& Engine::counters() const { return impl_->state.counters; }
const Ledger& Engine::ledger() const { return impl_->state.ledger; }
std::size_t Engine::live_requests() const { return impl_->state.live.size(); }
std::size_t Engine::spaces() const { return impl_->state.spaces.size(); }
const std::string& Engine::policy(std::size_t group) const { return impl_->state.groups[group].policy; }
std::uint64_t Engine::owned_pages(std::size_t group) const { return impl_->state.owned[group]; }
const std::vector<std::string>& Engine::notes() const { return impl_->state.notes; }

const Pool& Engine::pool(std::size_t group) const {
  if (group < groups()) return impl_->state.pools[group];
  throw std::out_of_range(fmt::format("Engine::pool of group {}, but there are {}", group, groups()));
}
const PrefixIndex& Engine::index() const { return impl_->state.index->component(); }
const char* Engine::sync(std::size_t group) {
  StorePort* const store = pool(group).store_port();
  return store ? store->sync() : nullptr;
}
Pool& Engine::pool(std::size_t group) { return const_cast<Pool&>(std::as_const(*this).pool(group)); }

/// Calls call(), unless another call of the engine is running.
template <class Call>
auto Engine::guarded(const char* name, Call&& call) const {
  using Answer = decltype(call());
  const CallGuard entered(impl_->state, name);
  return entered ? call() : Answer();
}

/// Does the same for a group that exists.
template <class Call>
auto Engine::guarded(const char* name, std::size_t group, Call&& call) const {
  using Answer = decltype(call());
  return guarded(name, [&] {
    if (group < groups()) return call();
    misused(fmt::format("{} of group {}, but there are {}", name, group, groups()));
    return Answer();
  });
}

void Engine::misused(std::string sentence) const { impl_->state.ledger.violated(std::move(sentence)); }

NamespaceId Engine::intern(const Space& space) {
  auto id = static_cast<NamespaceId>(~std::uint32_t{0});  // a refused call returns a namespace that does not exist
  guarded("Engine::intern", [&] {
    const std::size_t had = spaces();
    id = impl_->state.spaces.intern(space);
    if (impl_->tier) impl_->tier->state().spaces.intern(space);  // in the same order, so the number is the same
    if (spaces() > had && impl_->publisher) impl_->publisher->space(id);
  });
  return id;
}

Admission Engine::admits(const RequestSpec& spec) const {
  Admission answer{Admission::Verdict::wait, "another call of the engine is running"};
  guarded("Engine::admits", [&] { answer = impl_->requests.admits(spec); });
  return answer;
}
Request Engine::begin(const RequestSpec& spec, Fetch fetched) {
  return guarded("Engine::begin", [&] {
    RequestState* const request = impl_->requests.begin(spec);
    if (!request) return Request();
    if (fetched.state_) impl_->fetches->credit(*fetched.state_, request->lock.length, fetched.took_us());
    else if (impl_->fetches && !fetched.asked_) impl_->fetches->touch(spec);
    return Request(*request);
  });
}
Fetch Engine::fetch(const RequestSpec& spec) {
  return guarded("Engine::fetch", [&] {
    Fetch fetch;
    if (impl_->fetches) {
      const std::size_t least = std::min<std::size_t>(spec.min_uncached, spec.prompt.size());
      fetch.hold(impl_->fetches->fetch(spec), whole_pages(spec.prompt.size() - least));
    }
    return fetch;
  });
}
std::uint64_t Engine::recompute_us(std::uint32_t tokens, std::uint32_t depth) const {
  return impl_->costs.recompute_us(depth, tokens);
}
void Engine::turn(std::uint64_t now_us) {
  guarded("Engine::turn", [&] {
    const TurnBoard* const agreed = impl_->board ? agree(now_us) : nullptr;
    if (!impl_->tier) return;
    impl_->tier->turn(now_us);
    if (impl_->storage) impl_->storage->turn(now_us, agreed);
    impl_->fetches->turn();
    if (impl_->storage) impl_->storage->evict_early();
    impl_->drainer.go_on();
    if (!impl_->publisher || !impl_->publisher->on()) return;
    if (impl_->storage) impl_->storage->show();
    impl_->publisher->turn_below();
  });
}
/// Makes the one exchange of a turn. `now_us` becomes the time of all ranks. Returns null if they disagree; this rank
/// then continues without its tiers.
const TurnBoard* Engine::agree(std::uint64_t& now_us) {
  TurnBoard& board = *impl_->board;
  const EngineState& state = impl_->state;
  const std::uint64_t words[] = {digest(), state.live.size(), state.tiers[Counter::breaks_storage],
                                 impl_->storage ? impl_->storage->calls_made() : 0};
  board.begin(now_us, XXH3_64bits(words, sizeof(words)));
  const bool agreed_before = !board.stopped();
  if (agreed_before && impl_->storage) impl_->storage->offer(board, now_us);
  if (board.exchange()) {
    now_us = board.now_us();
    return &board;
  }
  if (agreed_before) {
    impl_->state.board.health.ranks = RanksState::stopped;
    misused(board.why());
    if (impl_->tier) impl_->tier->stop();
    if (impl_->storage) impl_->storage->stop();
    if (impl_->fetches) impl_->fetches->stop();
  }
  return nullptr;
}
std::uint64_t Engine::next_end_us() const {
  if (!impl_->tier) return kUnlimited;
  return std::min(
      {impl_->tier->next_us(), impl_->fetches->next_us(), impl_->storage ? impl_->storage->next_us() : kUnlimited});
}
bool Engine::in_real_time() const { return impl_->storage && impl_->storage->in_real_time(); }
bool Engine::has_storage() const { return impl_->storage != nullptr; }
CounterValues Engine::tier_counters() const {
  if (impl_->storage) impl_->storage->show();
  return canopy::tier_counters(impl_->state);
}
Found Engine::find(const RequestSpec& spec) {
  return guarded("Engine::find", [&] { return impl_->requests.find(spec); });
}
void Engine::order_by_weight(std::span<const NodeId> ends, std::span<std::uint32_t> order) const {
  std::iota(order.begin(), order.end(), 0U);
  guarded("Engine::order_by_weight", [&] {
    if (order.size() != ends.size())
      return misused(fmt::format("Engine::order_by_weight of {} requests into {}", ends.size(), order.size()));
    const IndexTimer timer(impl_->state);
    impl_->state.index->order_by_weight(ends, order);
  });
}

void Engine::use_policy(std::size_t group, std::shared_ptr<EvictionStrategy> policy, std::string_view name) {
  guarded("Engine::use_policy", group, [&] {
    if (!policy) return misused("Engine::use_policy without a policy");
    impl_->pages.use_policy(group, std::move(policy), name);
  });
}
bool Engine::make_free(std::size_t group, std::uint64_t pages) {
  return guarded("Engine::make_free", group, [&] { return impl_->pages.make_free(group, pages); });
}
std::uint64_t Engine::flush(NamespaceId space) {
  return guarded("Engine::flush", [&] { return impl_->pages.flush(space); });
}
void Engine::resize(std::size_t group, std::uint64_t pages) {
  guarded("Engine::resize", group, [&] {
    if (pages == 0) return misused("Engine::resize to 0 pages: a pool has at least 1");
    impl_->drainer.resize(group, pages);
  });
}
std::vector<Blocker> Engine::blockers(std::size_t group) const {
  return guarded("Engine::blockers", group, [&] { return impl_->drainer.blockers(group); });
}
bool Engine::pin(NodeId node) {
  return guarded("Engine::pin", [&] { return impl_->pins.pin(node); });
}
bool Engine::unpin(NodeId node) {
  return guarded("Engine::unpin", [&] { return impl_->pins.unpin(node); });
}

bool Engine::poll() {
  return guarded("Engine::poll", [&] {
    impl_->drainer.go_on();
    return impl_->control.poll();
  });
}
FeedSink* Engine::feed() {
  return impl_->publisher && impl_->publisher->has_feed() ? &impl_->publisher->sink() : nullptr;
}

void Engine::audit() {
  guarded("Engine::audit", [&] {
    canopy::audit(impl_->state, {});
    if (!impl_->tier) return;
    auto moving = impl_->tier->moving();
    if (impl_->storage) impl_->storage->add_moving(moving);
    canopy::audit(impl_->tier->state(), moving);
  });
}

std::uint64_t Engine::digest() const {
  const Counters& counters = impl_->state.counters;
  const Sizes sizes = impl_->state.index->sizes(0);
  const std::uint64_t words[] = {
      impl_->pages.digest().value(), counters.requests,       counters.prompt_tokens, counters.hit_tokens,
      counters.evict_calls,          counters.evicted_tokens, counters.finished,      counters.aborted,
      counters.repointed_pages,      sizes.evictable,         sizes.protected_};
  const std::uint64_t above = XXH3_64bits(words, sizeof(words));
  if (!impl_->tier) return above;
  const CounterValues& tiers = impl_->state.tiers;
  const Sizes below = host_tier()->index->sizes(0);
  const std::uint64_t both[] = {above, impl_->tier->pages().digest().value(), tiers[Counter::hit_tokens_host],
                                below.evictable, below.protected_};
  const std::uint64_t two = XXH3_64bits(both, sizeof(both));
  if (!impl_->storage) return two;
  const std::uint64_t all[] = {two, tiers[Counter::hit_tokens_storage], tiers[Counter::written_tokens_storage],
                               tiers[Counter::loaded_tokens_storage], tiers[Counter::damaged_records_storage]};
  return XXH3_64bits(all, sizeof(all));
}

}  // namespace canopy
