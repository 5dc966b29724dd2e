#include <canopy/engine/engine.h>
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "audit.h"
#include "pages/entry.h"
#include "parts.h"

namespace canopy {

Engine::Engine(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Engine::~Engine() = default;

const EngineState& Engine::state() const { return parts_->state; }

const Pool& Engine::pool(std::size_t group) const {
  if (group < groups()) return state().pools[group];
  throw std::out_of_range(fmt::format("Engine::pool of group {}, but there are {}", group, groups()));
}
Pool& Engine::pool(std::size_t group) { return const_cast<Pool&>(std::as_const(*this).pool(group)); }

/// Calls serve(), unless another call of the engine is running.
template <class Serve>
auto Engine::serve(const char* call, Serve&& serve) const {
  using Answer = decltype(serve());
  const Entry entry(parts_->state, call);
  return entry ? serve() : Answer();
}

/// As serve, for a group that exists.
template <class Serve>
auto Engine::serve(const char* call, std::size_t group, Serve&& serve) const {
  using Answer = decltype(serve());
  return this->serve(call, [&] {
    if (group < groups()) return serve();
    misused(fmt::format("{} of group {}, but there are {}", call, group, groups()));
    return Answer();
  });
}

void Engine::misused(std::string sentence) const { parts_->state.ledger.violated(std::move(sentence)); }

NamespaceId Engine::intern(const Space& space) {
  auto id = static_cast<NamespaceId>(~std::uint32_t{0});  // a refused call gives no namespace that exists
  serve("Engine::intern", [&] {
    const std::size_t had = spaces();
    id = parts_->state.spaces.intern(space);
    if (parts_->tier) parts_->tier->state().spaces.intern(space);  // in the same order: the same number
    if (spaces() > had && parts_->publisher) parts_->publisher->space(id);
  });
  return id;
}

Admission Engine::admits(const RequestSpec& spec) const {
  Admission answer{Admission::Verdict::wait, "another call of the engine is running"};
  serve("Engine::admits", [&] { answer = parts_->requests.admits(spec); });
  return answer;
}
Request Engine::begin(const RequestSpec& spec, Fetch fetched) {
  return serve("Engine::begin", [&] {
    RequestState* const request = parts_->requests.begin(spec);
    if (!request) return Request();
    if (fetched.state_) parts_->fetches->credit(*fetched.state_, request->lock.length, fetched.took_us());
    else if (parts_->fetches && !fetched.asked_) parts_->fetches->touch(spec);
    return Request(*request);
  });
}
Fetch Engine::fetch(const RequestSpec& spec) {
  return serve("Engine::fetch", [&] {
    Fetch fetch;
    if (parts_->fetches) {
      const std::size_t least = std::min<std::size_t>(spec.min_uncached, spec.prompt.size());
      fetch.hold(parts_->fetches->fetch(spec), whole_pages(spec.prompt.size() - least));
    }
    return fetch;
  });
}
std::uint64_t Engine::recompute_us(std::uint32_t tokens, std::uint32_t depth) const {
  return parts_->costs.recompute_us(depth, tokens);
}
void Engine::computed(std::uint32_t tokens, std::uint32_t depth, std::uint64_t us) {
  serve("Engine::computed", [&] { parts_->costs.computed(depth, tokens, us); });
}
void Engine::turn(std::uint64_t now_us) {
  serve("Engine::turn", [&] {
    const TurnBoard* const agreed = parts_->board ? agree(now_us) : nullptr;
    if (!parts_->tier) return;
    parts_->tier->turn(now_us);
    if (parts_->storage) parts_->storage->turn(now_us, agreed);
    parts_->fetches->turn();
    if (parts_->storage) parts_->storage->evict_early();
    if (const std::uint64_t percent = parts_->tier->config().ahead)
      for (std::size_t g = 0; g < groups(); ++g)
        if (pool(g).limit() != kUnlimited) parts_->pages.make_free(g, pool(g).limit() * percent / 100);
    parts_->drainer.go_on();
    if (!parts_->publisher || !parts_->publisher->on()) return;
    if (parts_->storage) parts_->storage->show();
    parts_->publisher->turn_below();
  });
}
/// The one exchange of a turn. `now_us` becomes the time of all ranks. Null: they do not agree, and this one goes on
/// without its tiers.
const TurnBoard* Engine::agree(std::uint64_t& now_us) {
  TurnBoard& board = *parts_->board;
  const EngineState& state = parts_->state;
  constexpr Units kMany = 1 << 20;  // tokens, so that what the ranks were told of their speed is seen
  const std::uint64_t words[] = {digest(), state.live.size(), state.stored.breaks,
                                 parts_->storage ? parts_->storage->calls_made() : 0,
                                 parts_->costs.recompute_us(0, kMany)};
  board.begin(now_us, XXH3_64bits(words, sizeof(words)));
  const bool agreed_before = !board.stopped();
  if (agreed_before && parts_->storage) parts_->storage->offer(board, now_us);
  if (board.exchange()) {
    now_us = board.now_us();
    return &board;
  }
  if (agreed_before) {
    event::StorageRanks stopped = state.board.ranks.value_or(event::StorageRanks{});
    stopped.stopped = true;
    parts_->state.board.ranks = stopped;
    misused(board.why());
    if (parts_->tier) parts_->tier->stop();
    if (parts_->storage) parts_->storage->stop();
    if (parts_->fetches) parts_->fetches->stop();
  }
  return nullptr;
}
std::uint64_t Engine::next_end_us() const {
  if (!parts_->tier) return kUnlimited;
  return std::min(
      {parts_->tier->next_us(), parts_->fetches->next_us(), parts_->storage ? parts_->storage->next_us() : kUnlimited});
}
bool Engine::in_real_time() const { return parts_->storage && parts_->storage->in_real_time(); }
bool Engine::has_storage() const { return parts_->storage != nullptr; }
Found Engine::find(const RequestSpec& spec) {
  return serve("Engine::find", [&] { return parts_->requests.find(spec); });
}
void Engine::order_by_weight(std::span<const NodeId> ends, std::span<std::uint32_t> order) const {
  std::iota(order.begin(), order.end(), 0U);
  serve("Engine::order_by_weight", [&] {
    if (order.size() != ends.size())
      return misused(fmt::format("Engine::order_by_weight of {} requests into {}", ends.size(), order.size()));
    const IndexTimer timer(parts_->state);
    index().order_by_weight(ends, order);
  });
}

void Engine::use_policy(std::size_t group, std::shared_ptr<EvictionStrategy> policy, std::string_view name) {
  serve("Engine::use_policy", group, [&] {
    if (!policy) return misused("Engine::use_policy without a policy");
    parts_->pages.use_policy(group, std::move(policy), name);
  });
}
bool Engine::make_free(std::size_t group, std::uint64_t pages) {
  return serve("Engine::make_free", group, [&] { return parts_->pages.make_free(group, pages); });
}
std::uint64_t Engine::flush(NamespaceId space) {
  return serve("Engine::flush", [&] { return parts_->pages.flush(space); });
}
void Engine::resize(std::size_t group, std::uint64_t pages) {
  serve("Engine::resize", group, [&] {
    if (pages == 0) return misused("Engine::resize to 0 pages: a pool has at least 1");
    parts_->drainer.resize(group, pages);
  });
}
std::vector<Blocker> Engine::blockers(std::size_t group) const {
  return serve("Engine::blockers", group, [&] { return parts_->drainer.blockers(group); });
}
bool Engine::pin(NodeId node) {
  return serve("Engine::pin", [&] { return parts_->pins.pin(node); });
}
bool Engine::unpin(NodeId node) {
  return serve("Engine::unpin", [&] { return parts_->pins.unpin(node); });
}

bool Engine::poll() {
  return serve("Engine::poll", [&] {
    parts_->drainer.go_on();
    return parts_->control.poll();
  });
}
FeedSink* Engine::feed() {
  return parts_->publisher && parts_->publisher->has_feed() ? &parts_->publisher->sink() : nullptr;
}

void Engine::audit() {
  serve("Engine::audit", [&] {
    canopy::audit(parts_->state, {});
    if (!parts_->tier) return;
    auto moving = parts_->tier->moving();
    if (parts_->storage) parts_->storage->add_moving(moving);
    canopy::audit(parts_->tier->state(), moving);
  });
}

std::uint64_t Engine::digest() const {
  const Counters& counters = state().counters;
  const Sizes sizes = index().sizes(0);
  const std::uint64_t words[] = {
      parts_->pages.digest().value(), counters.requests,       counters.prompt_tokens, counters.hit_tokens,
      counters.evict_calls,           counters.evicted_tokens, counters.finished,      counters.aborted,
      counters.repointed_pages,       sizes.evictable,         sizes.protected_};
  const std::uint64_t above = XXH3_64bits(words, sizeof(words));
  if (!parts_->tier) return above;
  const Sizes below = host_tier()->index->sizes(0);
  const std::uint64_t both[] = {above, parts_->tier->pages().digest().value(), counters.hit_tokens_host,
                                below.evictable, below.protected_};
  const std::uint64_t two = XXH3_64bits(both, sizeof(both));
  if (!parts_->storage) return two;
  const StorageFigures& stored = state().stored;
  const std::uint64_t all[] = {two, counters.hit_tokens_storage, stored.written_tokens, stored.read_tokens,
                               stored.damaged_records};
  return XXH3_64bits(all, sizeof(all));
}

}  // namespace canopy
