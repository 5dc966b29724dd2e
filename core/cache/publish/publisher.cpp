// Readers receive the events of an operation only with the Commit that ends it. Nothing is pushed unless on() is true.
// A keyframe has the whole present state, and readers in step skip it.

#include "publisher.h"

#include <canopy/feed/node_events.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include <cache/guard/index_port.h>

namespace canopy {
namespace {

/// Returns bit g for each group g that has pages in the node.
std::uint16_t resident_groups(const NodeView& node) {
  std::uint16_t resident = 0;
  for (std::size_t g = 0; g < kMaxGroups; ++g)
    if (!node.pages[g].empty()) resident = static_cast<std::uint16_t>(resident | 1U << g);
  return resident;
}

event::NodeAdded added_event(const NodeView& node) {
  return {.resident = resident_groups(node),
          .space = node.facts.space,
          .node = node.facts.id,
          .parent = slot_of(node.parent),
          .length = node.facts.length};
}

/// Pushes every node that a walk over the index visits.
class NodePusher final : public NodeVisitor, public QueueVisitor {
 public:
  NodePusher(FeedWriter& feed, std::size_t groups) : feed_(feed), groups_(groups) {}

  std::uint8_t group = 0;  ///< group of the queue that is visited

  void node(const NodeView& node) override {
    const NodeFacts& facts = node.facts;
    push_node(feed_, added_event(node), node.words.data(), facts.created);
    feed_.push(event::NodeHistory{.priority = facts.priority,
                                  .node = facts.id,
                                  .last_access = facts.last_access,
                                  .hits = facts.hits,
                                  .inserts = facts.inserts});
    for (std::uint8_t g = 0; g < groups_; ++g) {
      feed_.push_pages(event::NodePages{.group = g, .node = facts.id}, 0, node.pages[g].size(), node.pages[g].data());
      if (node.locks[g]) feed_.push(event::NodeLocks{.group = g, .locks = node.locks[g], .node = facts.id});
    }
  }
  void waiting(const NodeFacts& node, Rank rank) override {
    feed_.push(event::NodeRanked{.group = group, .node = node.id, .rank = rank});
  }

 private:
  FeedWriter& feed_;
  std::size_t groups_;
};

/// Returns the events of a ring that holds a keyframe of the most possible nodes, since each holds a page. Memory that
/// is never written costs nothing.
std::uint64_t usual_events(const CacheState& state) {
  constexpr std::uint64_t kLeast = std::uint64_t{1} << 16, kMost = std::uint64_t{1} << 22, kPerPage = 6;
  if (state.pools.empty()) return kMost;  // an index without pools may have any number of nodes
  std::uint64_t events = 0;
  for (const Pool& pool : state.pools)
    events += std::min(kMost, pool.limit() == kUnlimited ? kMost : pool.limit() * kPerPage);
  return std::clamp(events, kLeast, kMost);
}

/// Sends every node that a walk over the index visits to a listener.
class ListenerFeeder final : public NodeVisitor {
 public:
  explicit ListenerFeeder(TreeListener& listener) : listener_(listener) {}
  void node(const NodeView& node) override {
    if (life_of(node.facts.id) == 0) return;  // one more block of a prefix that was already sent
    listener_.added(added_event(node), node.words.data());
  }

 private:
  TreeListener& listener_;
};

/// Returns the most words that an index of these pools holds: each node has pages in one of them.
std::uint64_t most_words(const CacheState& state) {
  std::uint64_t pages = 0;
  for (const Pool& pool : state.pools) {
    if (pool.limit() == kUnlimited) return kUnlimited;
    pages += pool.limit();
  }
  return state.pools.empty() ? kUnlimited : pages * state.page_size;
}

/// Introduces the engine to the listener. Returns an error message if the listener refuses it, else an empty text.
std::string introduce(TreeListener& listener, const FeedShape& shape, const CacheState& state) {
  std::vector<std::string_view> names;
  for (const GroupLabel& group : state.groups) names.push_back(group.name);
  return listener.begin({shape, most_words(state), names});
}

}  // namespace

Result<std::unique_ptr<Publisher>> Publisher::open(FeedConfig feed, const CacheState& state, Texts texts,
                                                   TreeListener* listener) {
  const bool has_feed = feed.kind != FeedConfig::Kind::off;
  if (!has_feed) feed = {FeedConfig::Kind::heap, {}, 1, false, false};  // the smallest feed; it is never written
  if (feed.events == 0) feed.events = usual_events(state);
  FeedShape shape;
  shape.page_size = state.page_size;
  shape.overlap = state.overlap;
  shape.groups = static_cast<std::uint32_t>(state.groups.size());
  for (std::size_t g = 0; g < state.groups.size(); ++g) shape.reaches[g] = state.groups[g].reach;
  auto sink = FeedSink::open(feed, shape);
  if (!sink) return sink.error();
  if (listener)
    if (std::string why = introduce(*listener, shape, state); !why.empty()) return Error{std::move(why)};
  (*sink)->writer().listen(listener);
  return std::unique_ptr<Publisher>(new Publisher(std::move(*sink), state, std::move(texts), has_feed));
}

Publisher::Publisher(std::unique_ptr<FeedSink> sink, const CacheState& state, Texts texts, bool has_feed)
    : state_(state), sink_(std::move(sink)), feed_(sink_->writer()), texts_(std::move(texts)), has_feed_(has_feed) {}

void Publisher::texts() {
  for (std::size_t i = 0; i < state_.spaces.size(); ++i)
    feed_.push_text(TextKind::space, i, state_.spaces.name_of(static_cast<NamespaceId>(i)));
  for (std::size_t g = 0; g < state_.groups.size(); ++g) {
    feed_.push_text(TextKind::group, g, state_.groups[g].name);
    policy(g);
  }
  feed_.push_text(TextKind::config, 0, texts_.config);
  for (std::size_t i = 0; i < texts_.plugins.size(); ++i) feed_.push_text(TextKind::plugin, i, texts_.plugins[i]);
  for (std::size_t i = 0; i < texts_.refusals.size(); ++i) feed_.push_text(TextKind::refusal, i, texts_.refusals[i]);
  if (!state_.board.storage.empty()) feed_.push_text(TextKind::storage, 0, state_.board.storage);
  paused();
}

FeedWriter* Publisher::writer_below() {
  if (has_feed_ && !below_) below_.emplace(feed_);
  return below_ ? &*below_ : nullptr;
}

/// Pushes all nodes of an index, and those that wait for eviction.
void Publisher::tree(const CacheState& state, FeedWriter& feed) {
  if (feed.no_nodes()) return feed.push_text(TextKind::no_nodes, 0, feed.no_nodes());
  NodePusher pusher(feed, state.groups.size());
  state.index->visit(pusher);
  for (; pusher.group < state.groups.size(); ++pusher.group)
    state.index->call("waiting", &PrefixIndex::waiting, pusher.group, pusher);
}

void Publisher::tier_keyframe(const CacheState& tier) {
  for (std::size_t i = 0; i < state_.spaces.size(); ++i)
    below_->push_text(TextKind::space, i, state_.spaces.name_of(static_cast<NamespaceId>(i)));
  for (std::size_t g = 0; g < tier.groups.size(); ++g) {
    below_->push_text(TextKind::group, g, tier.groups[g].name);
    policy(tier.groups[g], g, *below_);
  }
  tree(tier, *below_);
  for (Sent& sent : sent_below_) sent.pages = sent.changes = kUnlimited;
}

void Publisher::keyframe() {
  feed_.push(event::Keyframe{});
  texts();
  if (state_.tenants) tenants();
  tree(state_, feed_);
  for (const RequestState* request : state_.live) {
    request_begun(*request);
    for (std::size_t g = 0; g < state_.pools.size(); ++g) own_pages(*request, g, request->own_from);
    const bool retracted = request->stage == RequestState::Stage::retracted;
    progress(*request, retracted ? RequestPhase::retracted : RequestPhase::running);
  }
  for (const auto& [node, lock] : state_.pins) pinned(node, true);
  for (const auto& [node, path] : state_.kept)
    if (!state_.pins.contains(node)) pinned(node, true);
  if (callers_pool_.pages != 0) feed_.push(callers_pool_);
  for (Sent& sent : sent_) sent.pages = sent.changes = kUnlimited;
  if (state_.below && below_) tier_keyframe(*state_.below);
  const auto sent = std::exchange(sent_counters_, {});
  totals();
  commit(Operation::none);
  // Readers that were up to date skip this keyframe: what they have not received is sent again, to all.
  constexpr std::uint64_t kNever = kUnlimited - 1;
  for_each_value([&](Counter counter, const CounterInfo&, std::size_t row, std::size_t column) {
    std::uint64_t& now = sent_counters_.values.at(counter, row, column);
    if (now != sent.values.at(counter, row, column)) now = kNever;
  });
  if (std::memcmp(&sent_counters_.health, &sent.health, sizeof(sent.health)) != 0) sent_counters_.health = Event{};
}

void Publisher::space(NamespaceId space) {
  if (TreeListener* listener = feed_.listener())
    listener->space(space, state_.spaces.salt_of(space), state_.spaces.adapter_of(space));
  if (!on()) return;
  for (FeedWriter* const feed : {&feed_, below_ ? &*below_ : nullptr})
    if (feed) feed->push_text(TextKind::space, static_cast<std::size_t>(space), state_.spaces.name_of(space));
  if (state_.tenants) tenant_of(space);
}

void Publisher::policy(std::size_t group) {
  if (on()) policy(state_.groups[group], group, feed_);
}

void Publisher::policy(const GroupLabel& label, std::size_t group, FeedWriter& feed) {
  const PolicyText text = label.eviction ? label.eviction->describe() : PolicyText{};
  feed.push_text(TextKind::policy, group, label.policy);
  feed.push_text(TextKind::policy_rule, group, text.rule);
  feed.push_text(TextKind::policy_rank, group, text.rank);
}

void Publisher::evicted_for(NamespaceId space) {
  if (on()) feed_.push(event::EvictedFor{.space = space});
}

void Publisher::paused() {
  if (on()) feed_.push_text(TextKind::paused, 0, state_.paused_because);
}

void Publisher::pinned(NodeId node, bool pinned) {
  if (on()) feed_.push(event::Pinned{.pinned = pinned, .node = node});
}

bool Publisher::callers_pool(std::uint64_t pages, std::uint64_t free) {
  if (callers_pool_.pages == pages && callers_pool_.free == free) return false;
  callers_pool_ = {.pages = pages, .free = free};
  if (on()) feed_.push(callers_pool_);
  return true;
}

void Publisher::totals() {
  for (std::uint8_t g = 0; g < state_.pools.size(); ++g) {
    const Sizes sizes = state_.index->sizes(g);
    feed_.push(event::Totals{.group = g,
                             .owned = static_cast<std::uint32_t>(state_.owned[g] + state_.moving[g]),
                             .free = state_.pools[g].occupancy().free,
                             .evictable = sizes.evictable,
                             .protected_ = sizes.protected_});
  }
  if (state_.below) tier_totals(*state_.below);
}

void Publisher::tier_totals(const CacheState& tier) {
  for (std::uint8_t g = 0; g < tier.pools.size(); ++g) {
    const Sizes sizes = tier.index->sizes(g);
    // Readers do not see the pages that a copy fills, and count them as free.
    if (below_)
      below_->push(event::Totals{.group = g,
                                 .free = tier.pools[g].occupancy().free + tier.moving[g],
                                 .evictable = sizes.evictable,
                                 .protected_ = sizes.protected_});
  }
  counters("host");
  counters("storage");
}

/// Sends the counters of a tier that have changed since they were last sent.
void Publisher::counters(std::string_view tier) {
  if (tier == "storage" && state_.board.storage.empty()) return;
  const CounterValues now = tier_counters(state_);
  for_each_value([&](Counter counter, const CounterInfo& info, std::size_t row, std::size_t column) {
    std::uint64_t& sent = sent_counters_.values.at(counter, row, column);
    if (info.tier != tier || std::exchange(sent, now.at(counter, row, column)) == now.at(counter, row, column)) return;
    feed_.push(event::CounterValue{.counter = counter,
                                   .row = static_cast<std::uint8_t>(row),
                                   .column = static_cast<std::uint8_t>(column),
                                   .value = sent});
  });
  const auto health = std::bit_cast<Event>(state_.board.health);
  if (tier != "storage" || std::memcmp(&health, &sent_counters_.health, sizeof(health)) == 0) return;
  sent_counters_.health = health;
  feed_.push(state_.board.health);
}

void Publisher::pool_changes(const CacheState& state, FeedWriter& feed, SentPools& sent_pools) {
  for (std::uint8_t g = 0; g < state.pools.size(); ++g) {
    const Pool& pool = state.pools[g];
    const Occupancy occupancy = pool.occupancy();
    Sent& sent = sent_pools[g];
    if (occupancy.capacity != sent.pages || pool.limit() != sent.limit) {
      sent.pages = occupancy.capacity;
      sent.limit = pool.limit();
      feed.push(event::PoolSized{
          .group = g, .segment_pages = pool.segment_pages(), .pages = occupancy.capacity, .limit = pool.limit()});
    }
    if (pool.changes() == sent.changes) continue;
    sent.changes = pool.changes();
    for (std::size_t i = 0; i < pool.segments().size(); ++i) {
      const PoolSegment& segment = pool.segments()[i];
      feed.push(event::SegmentChanged{
          .group = g, .state = segment.state(), .offered = segment.offered, .number = i, .draining = segment.draining});
    }
  }
}

void Publisher::commit(Operation operation) {
  pool_changes(state_, feed_, sent_);
  if (state_.below && below_) pool_changes(*state_.below, *below_, sent_below_);
  // Once a reader's sums are wrong they stay wrong, so an occasional comparison is enough. A prime number, so that it
  // does not always follow the same operation of a request.
  constexpr std::uint64_t kTotalsEvery = 13;
  // If the index sends no nodes, these sums are all that a reader has.
  if (operation != Operation::none && (feed_.no_nodes() || state_.operations % kTotalsEvery == 0)) totals();
  feed_.push(event::Commit{
      .operation = operation, .tick = state_.index->now(), .operations = state_.operations, .us = state_.elapsed_us});
  feed_.publish();
  published_ = feed_.at();
}

void Publisher::turn_below() {
  if (!on() || !state_.below) return;
  counters("storage");
  if (feed_.at() == published_) return;
  tier_totals(*state_.below);
  turn(Operation::insert);
}

void Publisher::turn(Operation operation) {
  if (on()) commit(operation);
  if (feed_.listener()) listener_turn();
  if (feed_.shape().ring_events == 0) return sink_->keep_pace(state_.elapsed_us);  // a file has no readers
  FeedDesk& desk = desk_behind(feed_.header());
  constexpr std::uint64_t kLook = 4096;  // operations between the checks, each of which is a system call
  const std::uint32_t readers = desk.readers.load(std::memory_order_relaxed);
  if (on() && (readers != readers_sent_ || ++commits_ % kLook == 0)) feed_.turn(sink_->watched());
  readers_sent_ = readers;
  if (desk.keyframes_wanted.load(std::memory_order_acquire) != keyframes_sent_) answer(desk);
}

/// In the long run keyframes take at most a tenth of the time, except for one in advance.
constexpr auto kAhead = std::chrono::milliseconds(100);

/// Resends everything to a listener that lost something.
void Publisher::listener_turn() {
  TreeListener& listener = *feed_.listener();
  if (!listener.turn()) return;
  const auto began = std::chrono::steady_clock::now();
  if (keyframe_from_ > began + kAhead) return;
  listener.resync();
  for (std::size_t i = 0; i < state_.spaces.size(); ++i) {
    const auto space = static_cast<NamespaceId>(i);
    listener.space(space, state_.spaces.salt_of(space), state_.spaces.adapter_of(space));
  }
  ListenerFeeder feeder(listener);
  state_.index->visit(feeder);
  listener.turn();
  keyframe_from_ = std::max(keyframe_from_, began) + 10 * (std::chrono::steady_clock::now() - began);
}

/// Sends a keyframe for a reader that has attached or was overtaken.
void Publisher::answer(FeedDesk& desk) {
  const auto began = std::chrono::steady_clock::now();
  if (began + kAhead < keyframe_from_) return;
  const std::uint64_t wanted = desk.keyframes_wanted.load(std::memory_order_acquire);
  feed_.turn(sink_->watched());
  keyframes_sent_ = wanted;
  if (!on()) return;
  keyframe();
  keyframe_from_ = std::max(keyframe_from_, began) + 10 * (std::chrono::steady_clock::now() - began);
}

void Publisher::serve_waiting_readers() {
  if (feed_.shape().ring_events != 0 &&
      desk_behind(feed_.header()).keyframes_wanted.load(std::memory_order_relaxed) != keyframes_sent_)
    turn(Operation::none);
}

}  // namespace canopy
