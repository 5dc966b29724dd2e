/// What an engine tells a feed, and what a feed's readers may ask of it.
#include <canopy/engine/engine.h>
#include <canopy/engine/engine_file.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "engine_internals.h"

namespace canopy {
namespace {

/// Pushes what visitors of an index see, as the events that would build it.
class NodeTeller final : public NodeVisitor, public QueueVisitor {
 public:
  NodeTeller(FeedWriter& feed, std::size_t groups) : feed_(feed), groups_(groups) {}

  std::size_t group = 0;  ///< whose queue is visited

  void node(const NodeView& node) override {
    const auto id = static_cast<std::uint64_t>(node.facts.id);
    const FeedHeader& header = feed_.header();
    std::uint16_t resident = 0;
    for (std::size_t g = 0; g < groups_; ++g)
      if (!node.pages[g].empty()) resident = static_cast<std::uint16_t>(resident | 1U << g);
    feed_.push({EventKind::node_added, 0, resident, static_cast<std::uint32_t>(node.facts.space), id,
                slot_of(node.parent) | std::uint64_t{node.facts.length} << 32, 0});
    const std::size_t named = (std::size_t{header.page_size} + header.overlap) * sizeof(std::uint32_t);
    feed_.push({EventKind::node_named, 0, 0, 0, id, XXH3_64bits_withSeed(node.words.data(), named, feed_.digest_key()),
                node.facts.created});
    for (Units at = 0; header.tokens && at < node.facts.length; at += 4) {
      std::uint32_t some[4] = {};
      std::copy(node.words.begin() + at, node.words.begin() + std::min(at + 4, node.facts.length), some);
      feed_.push({EventKind::node_words, 0, 0, at, id, some[0] | std::uint64_t{some[1]} << 32,
                  some[2] | std::uint64_t{some[3]} << 32});
    }
    feed_.push({EventKind::node_facts, 0, 0, static_cast<std::uint32_t>(node.facts.priority), id,
                node.facts.last_access, node.facts.hits | std::uint64_t{node.facts.inserts} << 32});
    for (std::size_t g = 0; g < groups_; ++g) {
      feed_.push_pages(EventKind::node_pages, id, g, 0, node.pages[g].size(), node.pages[g].data());
      if (node.locks[g]) feed_.push({EventKind::node_held, static_cast<std::uint8_t>(g), 0, 0, id, node.locks[g], 0});
    }
  }
  void waiting(const NodeFacts& node, Rank rank) override {
    feed_.push({EventKind::node_ranked, static_cast<std::uint8_t>(group), 0, 0, static_cast<std::uint64_t>(node.id),
                rank.major, rank.minor});
  }

 private:
  FeedWriter& feed_;
  std::size_t groups_;
};

}  // namespace

Result<std::monostate> Engine::open_feed(const EngineConfig& config, const Registry& registry) {
  // Room for a keyframe of the most nodes there can be, since each holds a page. What is never written costs nothing.
  constexpr std::uint64_t kLeast = std::uint64_t{1} << 16, kMost = std::uint64_t{1} << 22, kPerPage = 6;
  FeedConfig feed = config.feed;
  if (feed.events == 0) {
    for (const Pool& pool : pools_)
      feed.events += std::min(kMost, pool.limit() == kUnlimited ? kMost : pool.limit() * kPerPage);
    feed.events = std::clamp(feed.events, kLeast, kMost);
  }
  FeedHeader shape{};
  shape.page_size = page_size_;
  shape.overlap = overlap_;
  shape.groups = static_cast<std::uint32_t>(pools_.size());
  for (std::size_t g = 0; g < pools_.size(); ++g) shape.reaches[g] = pools_[g].needs().reach;
  auto sink = FeedSink::open(feed, shape);
  if (!sink) return Error{config.file + ": " + sink.error().text};
  sink_ = std::move(*sink);
  feed_ = &sink_->writer();
  config_text_ = dump_engine_config(config, registry);
  for (const Offer& offer : registry.offers())
    plugin_texts_.push_back(fmt::format("{}\t{}\t{}\t{} {}", offer.interface, offer.name, offer.summary,
                                        offer.file.filename().string(), offer.version));
  for (const Refusal& refusal : registry.refusals())
    refusal_texts_.push_back(fmt::format("{}\t{}", refusal.file.string(), refusal.why));
  return std::monostate{};
}

void Engine::tell_text(TextKind kind, std::size_t index, std::string_view text) {
  constexpr std::size_t kPiece = 2 * sizeof(std::uint64_t);
  std::size_t at = 0;
  do {
    const std::string_view piece = text.substr(at, kPiece);
    Event event{EventKind::text, 0, static_cast<std::uint16_t>(piece.size()), static_cast<std::uint32_t>(at),
                static_cast<std::uint64_t>(kind) | std::uint64_t{index} << 8};
    char bytes[kPiece] = {};
    piece.copy(bytes, kPiece);
    std::memcpy(&event.a, bytes, sizeof(event.a));
    std::memcpy(&event.b, bytes + sizeof(event.a), sizeof(event.b));
    at += piece.size();
    if (at == text.size()) event.extra |= std::uint32_t{1} << 31;
    feed_->push(event);
  } while (at < text.size());
}

void Engine::tell_texts() {
  for (std::size_t i = 0; i < space_names_.size(); ++i) tell_text(TextKind::space, i, space_names_[i]);
  for (std::size_t g = 0; g < pools_.size(); ++g) {
    tell_text(TextKind::group, g, pools_[g].group());
    tell_text(TextKind::policy, g, policy_names_[g]);
  }
  tell_text(TextKind::config, 0, config_text_);
  for (std::size_t i = 0; i < plugin_texts_.size(); ++i) tell_text(TextKind::plugin, i, plugin_texts_[i]);
  for (std::size_t i = 0; i < refusal_texts_.size(); ++i) tell_text(TextKind::refusal, i, refusal_texts_[i]);
  tell_text(TextKind::paused, 0, paused_because_);
}

/// A keyframe: what there is, as the events that would build it.
void Engine::tell_all() {
  feed_->push({EventKind::keyframe});
  tell_texts();
  NodeTeller teller(*feed_, pools_.size());
  index_->visit(teller);
  for (; teller.group < pools_.size(); ++teller.group) index_->waiting(teller.group, teller);
  for (const Request::State* request : live_) {
    tell_begun(*request);
    for (std::size_t g = 0; g < pools_.size(); ++g) tell_own_pages(*request, g, request->own_from);
    tell_moved(*request, request->rows[0].empty() ? RequestPhase::retracted : RequestPhase::running);
  }
  tell_pins();
  told_capacity_.fill(kUnlimited);
  told_changes_.fill(kUnlimited);
  tell_totals();
  tell_commit(Operation::none);
}

void Engine::tell_begun(const Request::State& request) {
  if (told())
    feed_->push({EventKind::request_begun, 0, 0, request.prompt, request.id,
                 request.matched | static_cast<std::uint64_t>(request.space) << 32, 0});
}

/// The pages just allocated, one after the other from a place of the row on.
void Engine::tell_new_pages(const Request::State& request, std::size_t group, std::size_t place) {
  FeedWriter::PageRuns runs(*feed_, EventKind::request_pages, request.id, group);
  for (const Segment& run : pools_[group].last_runs()) {
    runs.add(place, run.first, run.pages);
    place += run.pages;
  }
  runs.end();
}

void Engine::tell_own_pages(const Request::State& request, std::size_t group, std::size_t from) {
  const std::vector<Page>& row = request.rows[group];
  if (told())
    feed_->push_pages(EventKind::request_pages, request.id, group, std::min(from, row.size()), row.size(), row.data());
}

void Engine::tell_moved(const Request::State& request, RequestPhase phase) {
  if (told())
    feed_->push({EventKind::request_moved, 0, static_cast<std::uint16_t>(phase), request.computed, request.id,
                 request.own_from * page_size_, request.tokens.size()});
}

void Engine::tell_freed(std::size_t group, std::span<const Page> pages) {
  if (told()) feed_->push_pages(EventKind::freed, 0, group, 0, pages.size(), pages.data());
}

void Engine::tell_totals() {
  for (std::size_t g = 0; g < pools_.size(); ++g) {
    const Sizes sizes = index_->sizes(g);
    feed_->push({EventKind::totals, static_cast<std::uint8_t>(g), 0, static_cast<std::uint32_t>(held_[g]),
                 pools_[g].occupancy().free, sizes.evictable, sizes.protected_});
  }
}

void Engine::tell_commit(Operation operation) {
  for (std::size_t g = 0; g < pools_.size(); ++g) {
    const auto group = static_cast<std::uint8_t>(g);
    const Pool& pool = pools_[g];
    const Occupancy occupancy = pool.occupancy();
    if (occupancy.capacity != told_capacity_[g] || pool.limit() != told_limit_[g]) {
      told_capacity_[g] = occupancy.capacity;
      told_limit_[g] = pool.limit();
      feed_->push({EventKind::pool_sized, group, 0, pool.segment_pages(), 0, occupancy.capacity, pool.limit()});
    }
    if (pool.changes() != told_changes_[g]) {
      told_changes_[g] = pool.changes();
      for (std::size_t i = 0; i < pool.segments().size(); ++i) {
        const PoolSegment& segment = pool.segments()[i];
        feed_->push({EventKind::pool_segment, group, static_cast<std::uint16_t>(segment.state()), segment.leaving, i,
                     segment.offered, 0});
      }
    }
  }
  // A mirror's sums stay wrong once they are: to look now and then is enough. A prime, so that it is not always after
  // the same operation of those that every request comes with.
  constexpr std::uint64_t kTotalsEvery = 13;
  if (operation != Operation::none && operations_ % kTotalsEvery == 0) tell_totals();
  feed_->push(
      {EventKind::commit, 0, 0, static_cast<std::uint32_t>(operation), index_->now(), operations_, elapsed_us_});
  feed_->publish();
}

/// The end of an operation: it is published, and readers who came, left or were lapped are served.
void Engine::turn_feed(Operation operation) {
  if (feed_->on()) tell_commit(operation);
  FeedHeader& header = feed_->header();
  if (header.capacity == 0) return;      // a file has no readers
  constexpr std::uint64_t kLook = 4096;  // operations: a system call in so many is nothing
  if (feed_->on() && ++told_operations_ % kLook == 0) sink_->forget_dead_readers();
  const bool wanted = header.readers.load(std::memory_order_relaxed) > 0;
  const std::uint64_t keyframes = header.keyframes_wanted.load(std::memory_order_acquire);
  feed_->turn(wanted);
  if (wanted && keyframes != keyframes_told_) {
    keyframes_told_ = keyframes;
    tell_all();
  }
}

bool Engine::poll() {
  go_on_draining();
  if (!feed_) return true;
  FeedHeader& header = feed_->header();
  if (header.capacity != 0 && header.keyframes_wanted.load(std::memory_order_relaxed) != keyframes_told_)
    turn_feed(Operation::none);
  if (!header.controls) return true;
  for (;;) {
    const FeedHeader::Slot& slot = header.commands[commands_done_ % FeedHeader::kCommands];
    if (slot.ready.load(std::memory_order_acquire) != commands_done_ + 1) break;
    const Command command = slot.command;
    header.taken.store(++commands_done_, std::memory_order_release);
    obey(command);
  }
  if (!paused_) return true;
  if (steps_left_ == 0) return false;
  --steps_left_;
  return true;
}

void Engine::obey(const Command& command) {
  switch (command.kind) {
    case Command::Kind::pause:
      if (!paused_) pause("somebody at an inspector asked for it");
      break;
    case Command::Kind::go_on:
      go_on();
      break;
    case Command::Kind::step:
      pause("it goes step by step, as asked at an inspector");
      steps_left_ += command.amount;
      break;
    case Command::Kind::evict:
      if (command.group < pools_.size())
        make_free(command.group, pools_[command.group].allocator().occupancy().free + command.amount);
      break;
    case Command::Kind::resize:
      if (command.group < pools_.size()) resize(command.group, command.amount / page_size_);
      break;
    case Command::Kind::flush:
      if (command.amount < spaces_.size()) flush(static_cast<NamespaceId>(command.amount));
      break;
    case Command::Kind::policy: {
      const std::string name(command.name, strnlen(command.name, sizeof(command.name)));
      if (command.group >= pools_.size() || !registry_->find(EvictionStrategy::kInterface, name)) break;
      if (auto policy = registry_->make<EvictionStrategy>(name, {})) use_policy(command.group, *policy, name);
      break;
    }
    case Command::Kind::run_until:
      run_until(command);
      break;
    case Command::Kind::pin:
      pin(static_cast<NodeId>(command.amount));
      break;
    case Command::Kind::unpin:
      unpin(static_cast<NodeId>(command.amount));
      break;
  }
}

}  // namespace canopy
