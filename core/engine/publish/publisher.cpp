#include <canopy/engine/publisher.h>
#include <canopy/feed/node_events.h>

#include <algorithm>

#include "publish/storage_teller.h"

namespace canopy {
namespace {

/// Bit g: group g has pages in the node.
std::uint16_t resident_groups(const NodeView& node) {
  std::uint16_t resident = 0;
  for (std::size_t g = 0; g < kMaxGroups; ++g)
    if (!node.pages[g].empty()) resident = static_cast<std::uint16_t>(resident | 1U << g);
  return resident;
}

/// Tells of every node that a walk over the index visits.
class NodeTeller final : public NodeVisitor, public QueueVisitor {
 public:
  NodeTeller(FeedWriter& feed, std::size_t groups) : feed_(feed), groups_(groups) {}

  std::uint8_t group = 0;  ///< of the queue that is visited

  void node(const NodeView& node) override {
    const NodeFacts& facts = node.facts;
    push_node(feed_, {facts.id, slot_of(node.parent), facts.length, facts.space, resident_groups(node), 0},
              node.words.data(), facts.created);
    feed_.push(event::NodeHistory{facts.id, facts.priority, facts.last_access, facts.hits, facts.inserts});
    for (std::uint8_t g = 0; g < groups_; ++g) {
      feed_.push_pages(event::NodePages{facts.id, g, 0, {}}, 0, node.pages[g].size(), node.pages[g].data());
      if (node.locks[g]) feed_.push(event::NodeLocks{facts.id, g, node.locks[g]});
    }
  }
  void waiting(const NodeFacts& node, Rank rank) override { feed_.push(event::NodeRanked{node.id, group, rank}); }

 private:
  FeedWriter& feed_;
  std::size_t groups_;
};

/// Room for a keyframe of the most nodes there can be, since each holds a page. Memory that is never written costs
/// nothing.
std::uint64_t usual_events(const EngineState& state) {
  constexpr std::uint64_t kLeast = std::uint64_t{1} << 16, kMost = std::uint64_t{1} << 22, kPerPage = 6;
  if (state.pools.empty()) return kMost;  // an index alone does not say how many nodes it may have
  std::uint64_t events = 0;
  for (const Pool& pool : state.pools)
    events += std::min(kMost, pool.limit() == kUnlimited ? kMost : pool.limit() * kPerPage);
  return std::clamp(events, kLeast, kMost);
}

/// Tells a listener of every node that a walk over the index visits.
class ListenerTeller final : public NodeVisitor {
 public:
  explicit ListenerTeller(TreeListener& listener) : listener_(listener) {}
  void node(const NodeView& node) override {
    const NodeFacts& facts = node.facts;
    if (life_of(facts.id) == 0) return;  // one more block of a prefix that is told of already
    listener_.added({facts.id, slot_of(node.parent), facts.length, facts.space, resident_groups(node), 0},
                    node.words.data());
  }

 private:
  TreeListener& listener_;
};

/// Most words that an index of these pools holds: each node has pages in one of them.
std::uint64_t most_words(const EngineState& state) {
  std::uint64_t pages = 0;
  for (const Pool& pool : state.pools) {
    if (pool.limit() == kUnlimited) return kUnlimited;
    pages += pool.limit();
  }
  return state.pools.empty() ? kUnlimited : pages * state.page_size;
}

/// Empty, or why the listener cannot hear of this engine.
std::string introduce(TreeListener& listener, const FeedShape& shape, const EngineState& state) {
  std::vector<std::string_view> names;
  for (const GroupLabel& group : state.groups) names.push_back(group.name);
  return listener.begin({shape, most_words(state), names});
}

}  // namespace

Result<std::unique_ptr<Publisher>> Publisher::open(FeedConfig feed, const EngineState& state, Texts texts,
                                                   TreeListener* listener) {
  const bool has_feed = feed.kind != FeedConfig::Kind::off;
  if (!has_feed) feed = {FeedConfig::Kind::heap, {}, 1, false, false};  // the smallest: it is never written
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

Publisher::Publisher(std::unique_ptr<FeedSink> sink, const EngineState& state, Texts texts, bool has_feed)
    : state_(state),
      sink_(std::move(sink)),
      feed_(sink_->writer()),
      texts_(std::move(texts)),
      has_feed_(has_feed),
      storage_(std::make_unique<StorageTeller>()) {}

Publisher::~Publisher() = default;

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
  if (!state_.board.name.empty()) feed_.push_text(TextKind::storage, 0, state_.board.name);
  paused();
}

FeedWriter* Publisher::writer_below() {
  if (has_feed_ && !below_) below_.emplace(feed_);
  return below_ ? &*below_ : nullptr;
}

/// All nodes of an index, and those of them that wait to be evicted.
void Publisher::tree(const EngineState& state, FeedWriter& feed) {
  if (feed.no_nodes()) return feed.push_text(TextKind::no_nodes, 0, feed.no_nodes());
  NodeTeller teller(feed, state.groups.size());
  state.index->visit(teller);
  for (; teller.group < state.groups.size(); ++teller.group) state.index->waiting(teller.group, teller);
}

void Publisher::tier_keyframe(const EngineState& tier) {
  for (std::size_t i = 0; i < state_.spaces.size(); ++i)
    below_->push_text(TextKind::space, i, state_.spaces.name_of(static_cast<NamespaceId>(i)));
  for (std::size_t g = 0; g < tier.groups.size(); ++g) {
    below_->push_text(TextKind::group, g, tier.groups[g].name);
    policy(tier.groups[g], g, *below_);
  }
  tree(tier, *below_);
  for (Told& told : told_below_) told.pages = told.changes = kUnlimited;
}

void Publisher::keyframe() {
  feed_.push(event::Keyframe{});
  texts();
  tree(state_, feed_);
  for (const RequestState* request : state_.live) {
    request_begun(*request);
    for (std::size_t g = 0; g < state_.pools.size(); ++g) own_pages(*request, g, request->own_from);
    progress(*request, request->rows[0].empty() ? RequestPhase::retracted : RequestPhase::running);
  }
  for (const auto& [node, lock] : state_.pins) pinned(node, true);
  callers_pool();
  for (Told& told : told_) told.pages = told.changes = kUnlimited;
  if (state_.below && below_) tier_keyframe(*state_.below);
  storage_->forget();
  totals();
  commit(Operation::none);
  storage_->forget();  // a reader that was in step has passed over this
}

void Publisher::space(NamespaceId space) {
  if (TreeListener* listener = feed_.listener())
    listener->space(space, state_.spaces.salt_of(space), state_.spaces.adapter_of(space));
  if (!on()) return;
  for (FeedWriter* const feed : {&feed_, below_ ? &*below_ : nullptr})
    if (feed) feed->push_text(TextKind::space, static_cast<std::size_t>(space), state_.spaces.name_of(space));
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

void Publisher::paused() {
  if (on()) feed_.push_text(TextKind::paused, 0, state_.paused_because);
}

void Publisher::pinned(NodeId node, bool pinned) {
  if (on()) feed_.push(event::Pinned{node, pinned});
}

void Publisher::request_begun(const RequestState& request) {
  if (on())
    feed_.push(event::RequestBegun{request.id, request.prompt, request.matched, request.space, request.fetches});
}

void Publisher::progress(const RequestState& request, RequestPhase phase) {
  if (on())
    feed_.push(event::RequestProgress{request.id, phase, request.computed,
                                      static_cast<std::uint32_t>(request.own_from * state_.page_size),
                                      static_cast<std::uint32_t>(request.tokens.size())});
}

void Publisher::new_pages(const RequestState& request, std::size_t group, std::size_t place) {
  if (!on()) return;
  FeedWriter::Runs runs(feed_, event::RequestPages{request.id, static_cast<std::uint8_t>(group), 0, {}});
  for (const Segment& run : state_.pools[group].last_runs()) {
    runs.add(place, run);
    place += run.pages;
  }
  runs.end();
}

void Publisher::own_pages(const RequestState& request, std::size_t group, std::size_t place) {
  const std::vector<Page>& row = request.rows[group];
  if (on())
    feed_.push_pages(event::RequestPages{request.id, static_cast<std::uint8_t>(group), 0, {}},
                     std::min(place, row.size()), row.size(), row.data());
}

void Publisher::freed(std::size_t group, std::span<const Page> pages) {
  if (on()) feed_.push_pages(event::Freed{static_cast<std::uint8_t>(group), {}}, 0, pages.size(), pages.data());
}

void Publisher::callers_pool() {
  if (on() && state_.callers_pool.pages != 0)
    feed_.push(event::CallersPool{0, state_.callers_pool.pages, state_.callers_pool.free});
}

void Publisher::totals() {
  for (std::uint8_t g = 0; g < state_.pools.size(); ++g) {
    const Sizes sizes = state_.index->sizes(g);
    feed_.push(event::Totals{g, static_cast<std::uint32_t>(state_.owned[g] + state_.moving[g]),
                             state_.pools[g].occupancy().free, sizes.evictable, sizes.protected_});
  }
  if (state_.below) tier_totals(*state_.below);
}

void Publisher::tier_totals(const EngineState& tier) {
  for (std::uint8_t g = 0; g < tier.pools.size(); ++g) {
    const Sizes sizes = tier.index->sizes(g);
    feed_.push(event::TierPages{g, (sizes.evictable + sizes.protected_) / tier.page_size, tier.moving[g],
                                tier.pools[g].limit()});
    // A reader knows of no page that a copy fills, so that it counts those as free.
    if (below_)
      below_->push(
          event::Totals{g, 0, tier.pools[g].occupancy().free + tier.moving[g], sizes.evictable, sizes.protected_});
  }
  const TierFigures& moved = state_.moved;
  feed_.push(event::TierMoved{moved.written_tokens, moved.loaded_tokens, state_.counters.hit_tokens_host});
  feed_.push(event::TierLane{false, moved.storing.copies, moved.storing.bytes, moved.written_bytes, moved.now_us});
  feed_.push(event::TierLane{true, moved.loading.copies, moved.loading.bytes, moved.loaded_bytes, moved.now_us});
  event::TierFetches fetches;
  static_assert(std::tuple_size_v<decltype(fetches.by_outcome)> == kFetchOutcomeCount);
  for (std::size_t i = 0; i < kFetchOutcomeCount; ++i)
    fetches.by_outcome[i] = static_cast<std::uint32_t>(moved.fetches[i]);
  feed_.push(fetches);
  event::TierEnds ends{{}, moved.took_us, moved.saved_us};
  static_assert(event::TierEnds::kEnds == kFetchEndCount);
  for (std::size_t i = 0; i < kFetchEndCount; ++i) ends.by_end[i] = static_cast<std::uint32_t>(moved.ends[i]);
  feed_.push(ends);
  feed_.push(event::TierLost{moved.dropped_tokens, moved.lost_tokens, tier.counters.evicted_tokens});
  storage_->tell(state_, feed_);
}

void Publisher::pool_changes(const EngineState& state, FeedWriter& feed, ToldPools& told_pools) {
  for (std::uint8_t g = 0; g < state.pools.size(); ++g) {
    const Pool& pool = state.pools[g];
    const Occupancy occupancy = pool.occupancy();
    Told& told = told_pools[g];
    if (occupancy.capacity != told.pages || pool.limit() != told.limit) {
      told.pages = occupancy.capacity;
      told.limit = pool.limit();
      feed.push(event::PoolSized{g, pool.segment_pages(), occupancy.capacity, pool.limit()});
    }
    if (pool.changes() == told.changes) continue;
    told.changes = pool.changes();
    for (std::size_t i = 0; i < pool.segments().size(); ++i) {
      const PoolSegment& segment = pool.segments()[i];
      feed.push(event::SegmentChanged{g, i, segment.state(), segment.offered, segment.draining});
    }
  }
}

void Publisher::commit(Operation operation) {
  pool_changes(state_, feed_, told_);
  if (state_.below && below_) pool_changes(*state_.below, *below_, told_below_);
  // A reader's sums stay wrong once they are: to compare now and then is enough. A prime, so that it is not always
  // after the same operation of those that every request comes with.
  constexpr std::uint64_t kTotalsEvery = 13;
  // Where no nodes are told, a reader has these sums and no others.
  if (operation != Operation::none && (feed_.no_nodes() || state_.operations % kTotalsEvery == 0)) totals();
  feed_.push(event::Commit{operation, state_.index->now(), state_.operations, state_.elapsed_us});
  feed_.publish();
  published_ = feed_.at();
}

void Publisher::turn_below() {
  if (!on() || !state_.below) return;
  storage_->tell(state_, feed_);
  if (feed_.at() == published_) return;
  tier_totals(*state_.below);
  turn(Operation::insert);
}

void Publisher::turn(Operation operation) {
  if (on()) commit(operation);
  if (feed_.listener()) listener_turn();
  if (feed_.shape().ring_events == 0) return sink_->keep_pace(state_.elapsed_us);  // a file has no readers
  FeedDesk& desk = desk_behind(feed_.header());
  constexpr std::uint64_t kLook = 4096;  // operations: a system call in so many is nothing
  const std::uint32_t readers = desk.readers.load(std::memory_order_relaxed);
  if (on() && (readers != readers_told_ || ++commits_ % kLook == 0)) feed_.turn(sink_->watched());
  readers_told_ = readers;
  if (desk.keyframes_wanted.load(std::memory_order_acquire) != keyframes_told_) answer(desk);
}

/// Keyframes take a tenth of the time at most, in the long run, but for one in advance.
constexpr auto kAhead = std::chrono::milliseconds(100);

/// A listener that lost something is told of all there is.
void Publisher::listener_turn() {
  TreeListener& listener = *feed_.listener();
  if (!listener.turn()) return;
  const auto began = std::chrono::steady_clock::now();
  if (keyframe_from_ > began + kAhead) return;
  listener.anew();
  for (std::size_t i = 0; i < state_.spaces.size(); ++i) {
    const auto space = static_cast<NamespaceId>(i);
    listener.space(space, state_.spaces.salt_of(space), state_.spaces.adapter_of(space));
  }
  ListenerTeller teller(listener);
  state_.index->visit(teller);
  listener.turn();
  keyframe_from_ = std::max(keyframe_from_, began) + 10 * (std::chrono::steady_clock::now() - began);
}

/// A reader attached or was lapped, or says so.
void Publisher::answer(FeedDesk& desk) {
  const auto began = std::chrono::steady_clock::now();
  if (began + kAhead < keyframe_from_) return;
  const std::uint64_t wanted = desk.keyframes_wanted.load(std::memory_order_acquire);
  feed_.turn(sink_->watched());
  keyframes_told_ = wanted;
  if (!on()) return;
  keyframe();
  keyframe_from_ = std::max(keyframe_from_, began) + 10 * (std::chrono::steady_clock::now() - began);
}

void Publisher::serve_waiting_readers() {
  if (feed_.shape().ring_events != 0 &&
      desk_behind(feed_.header()).keyframes_wanted.load(std::memory_order_relaxed) != keyframes_told_)
    turn(Operation::none);
}

}  // namespace canopy
