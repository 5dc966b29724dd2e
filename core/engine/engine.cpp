#include <canopy/base/printable.h>
#include <canopy/engine/engine.h>
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include <cache/guard/index_port.h>
#include <cache/pages/call_guard.h>
#include "impl.h"
#include "state_of.h"

namespace canopy {

Engine::Engine(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Engine::~Engine() = default;

const CacheState& state_of(const Engine& engine) { return engine.impl_->state; }

const std::string& Engine::name_of(NamespaceId space) const { return impl_->state.spaces.name_of(space); }
Tiers& Engine::tiers() { return impl_->tiers_handle; }
const Tiers& Engine::tiers() const { return impl_->tiers_handle; }
Units Engine::page_size() const { return impl_->state.page_size; }
std::uint32_t Engine::whole_pages(std::size_t tokens) const { return impl_->state.whole_pages(tokens); }
std::size_t Engine::groups() const { return impl_->state.pools.size(); }
const Counters& Engine::counters() const { return impl_->state.counters; }
const Ledger& Engine::ledger() const { return impl_->state.ledger; }
bool Engine::is_running() const { return impl_->state.inside.load(std::memory_order_relaxed) != nullptr; }
std::size_t Engine::live_requests() const { return impl_->state.live.size(); }
std::size_t Engine::spaces() const { return impl_->state.spaces.size(); }
const std::string& Engine::policy(std::size_t group) const { return impl_->state.groups[group].policy; }
std::uint64_t Engine::owned_pages(std::size_t group) const { return impl_->state.owned[group]; }

const Pool& Engine::Impl::pool(std::size_t group) const {
  if (group < state.pools.size()) return state.pools[group];
  throw std::out_of_range(fmt::format("Engine::pool of group {}, but there are {}", group, state.pools.size()));
}
PoolView Engine::pool(std::size_t group) const { return impl_->pool(group).view(); }
KVStore* Engine::store(std::size_t group) const { return impl_->pool(group).store(); }
PolicyText Engine::policy_text(std::size_t group) const { return impl_->pool(group).eviction()->describe(); }
IndexView Engine::index() const { return IndexView(impl_->state); }
Result<std::monostate> Engine::sync(std::size_t group) {
  StorePort* const store = impl_->pool(group).store_port();
  const char* const failure = store ? store->sync() : nullptr;
  if (failure) return Error{failure};
  return std::monostate{};
}

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
    misused(Sentence("{} of group {}, but there are {}", name, group, groups()));
    return Answer();
  });
}

void Engine::misused(std::string_view sentence) const { impl_->state.ledger.violated(sentence); }

NamespaceId Engine::intern(const Space& space) {
  auto id = static_cast<NamespaceId>(~std::uint32_t{0});  // a refused call returns a namespace that does not exist
  guarded("Engine::intern", [&] {
    id = impl_->state.spaces.intern(space);
    // Also namespaces that an earlier call could not send, for want of memory.
    impl_->tiers.intern(impl_->state.spaces);
    for (; impl_->sent_spaces < spaces(); ++impl_->sent_spaces) {
      const auto added = static_cast<NamespaceId>(impl_->sent_spaces);
      // Numbers of tenants decide between equals, so they must not depend on whether there is a feed.
      if (impl_->state.tenants) impl_->state.tenants->of(added);
      if (Tenants* const below = impl_->tiers.tenants()) below->of(added);  // later calls below must not lack memory
      if (impl_->publisher) impl_->publisher->space(added);
    }
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
    impl_->tiers.begun(spec, fetched, request->lock.length);
    return Request(*request);
  });
}
void Engine::turn(std::uint64_t now_us) {
  guarded("Engine::turn", [&] {
    const std::uint64_t agreed_us = impl_->tiers.turn(now_us);
    impl_->retentions.turn(agreed_us);
  });
}
Found Engine::find(const RequestSpec& spec) {
  return guarded("Engine::find", [&] { return impl_->requests.find(spec); });
}
void Engine::find_many(std::span<const RequestSpec> specs, std::span<Found> found) {
  if (found.size() != specs.size())
    return misused(Sentence("Engine::find_many of {} requests into {}", specs.size(), found.size()));
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (i % RequestFlow::kPrefetched == 0)
      guarded("Engine::find_many", [&] { impl_->requests.prefetch(specs.subspan(i)); });
    found[i] = find(specs[i]);
  }
}
void Engine::order_by_weight(std::span<const NodeId> ends, std::span<std::uint32_t> order) const {
  std::iota(order.begin(), order.end(), 0U);
  guarded("Engine::order_by_weight", [&] {
    if (order.size() != ends.size())
      return misused(Sentence("Engine::order_by_weight of {} requests into {}", ends.size(), order.size()));
    const IndexTimer timer(impl_->state);
    impl_->state.index->order_by_weight(ends, order);
  });
}

Result<std::monostate> Engine::use_policy(std::size_t group, std::shared_ptr<EvictionStrategy> policy,
                                          std::string_view name) {
  const char* why = "the call was refused: see the ledger";
  guarded("Engine::use_policy", group, [&] {
    if (!policy) return misused("Engine::use_policy without a policy");
    why = impl_->pages.use_policy(group, std::move(policy), name) ? nullptr : IndexPort::kOtherOrder;
  });
  if (why) return Error{fmt::format("{}: {}", name, why)};
  return std::monostate{};
}
bool Engine::make_free(std::size_t group, std::uint64_t pages) {
  return guarded("Engine::make_free", group, [&] { return impl_->pages.make_free(group, pages); });
}
std::uint64_t Engine::flush(NamespaceId space) {
  return guarded("Engine::flush", [&]() -> std::uint64_t {
    if (impl_->state.spaces.knows(space)) return impl_->retentions.flush(space);
    misused(Sentence("Engine::flush of namespace {}, which was never interned: Engine::intern gave numbers below {}",
                     static_cast<std::uint64_t>(space), spaces()));
    return 0;
  });
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
Result<std::monostate> Engine::set_share(std::string_view tenant, const TenantShare& share) {
  std::string why = "another call of the engine is running";
  guarded("Engine::set_share", [&] {
    CacheState& state = impl_->state;
    if (!state.tenants) return static_cast<void>(why = "this engine has no tenants; expected `tenants` in its file");
    if (tenant.empty() || tenant == "*")
      return static_cast<void>(why = fmt::format("{} is no tenant's name", in_quotes(tenant)));
    Tenants& pools = *state.tenants;
    Tenants* const below = impl_->tiers.tenants();
    why = pools.flaw_of_share(tenant, share);
    if (why.empty() && below) why = below->flaw_of_share(tenant, share);
    if (why.empty() && !(impl_->retentions.has_room(pools.size() + 1) && pools.make_room(tenant) &&
                         (!below || below->make_room(tenant))))
      why = "the system has no memory for another tenant";
    if (!why.empty()) return static_cast<void>(why = fmt::format("tenant {}: {}", in_quotes(tenant), why));
    pools.set_share(tenant, share);
    if (below) below->set_share(tenant, share);
    impl_->retentions.tenants_changed();
    if (impl_->publisher) impl_->publisher->share(*state.tenants->find(tenant));
    impl_->pages.end_operation(Operation::control);
  });
  if (!why.empty()) return Error{std::move(why)};
  return std::monostate{};
}
std::vector<TenantUse> Engine::tenants() const {
  return impl_->state.tenants ? impl_->state.tenants->figures() : std::vector<TenantUse>();
}
std::vector<TenantPayment> Engine::payments() const {
  return impl_->state.tenants ? impl_->state.tenants->payments() : std::vector<TenantPayment>();
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
    impl_->tiers.audit();
  });
}

std::uint64_t Engine::digest() const { return impl_->tiers.digest(); }

}  // namespace canopy
