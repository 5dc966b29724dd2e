#pragma once

#include <canopy/engine/state.h>
#include <canopy/feed/sink.h>
#include <canopy/support/result.h>

#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace canopy {

class StorageTeller;

/// Tells a feed what happens. It reads the plain state and changes nothing of it.
///
/// An index that is used without an engine can be told of as well: fill EngineState's page_size, overlap and groups,
/// open a publisher, make the index with writer() in its Context, put it into EngineState::index, and call turn() after
/// each operation. A recording begins with a keyframe: call keyframe() once before the first operation if on().
class Publisher {
 public:
  /// What a reader sees of the configuration.
  struct Texts {
    std::string config;                          ///< YAML
    std::vector<std::string> plugins, refusals;  ///< fields apart by tabs
  };
  /// `listener`: hears of the tree from the first operation on, with a feed or without one (Kind::off); null: nothing
  /// does. It outlives the publisher.
  /// REQUIRES: `state` lives as long as any function here is called (the destructor does not touch it); its page_size,
  /// overlap, groups and pools are known.
  static Result<std::unique_ptr<Publisher>> open(FeedConfig feed, const EngineState& state, Texts texts,
                                                 TreeListener* listener = nullptr);

  ~Publisher();

  FeedSink& sink() { return *sink_; }
  /// False: there is a listener alone, and the sink has no readers.
  bool has_feed() const { return has_feed_; }
  FeedWriter& writer() { return feed_; }
  /// For the index of the tier below, whose events go into the same feed; null: there is no feed.
  FeedWriter* writer_below();
  bool on() const { return feed_.on(); }

  /// A keyframe: what there is, as the events that would build it.
  void keyframe();
  void space(NamespaceId space);
  void policy(std::size_t group);
  void paused();
  void pinned(NodeId node, bool pinned);
  void request_begun(const RequestState& request);
  void progress(const RequestState& request, RequestPhase phase);
  /// The pages that the pool has just handed out, one after the other from a place of the row on.
  void new_pages(const RequestState& request, std::size_t group, std::size_t place);
  /// All pages that the request owns from a place of the row on.
  void own_pages(const RequestState& request, std::size_t group, std::size_t place);
  void freed(std::size_t group, std::span<const Page> pages);
  /// EngineState::callers_pool is another one.
  void callers_pool();

  /// The end of an operation: publishes it, and serves readers that attached, detached or were lapped.
  void turn(Operation operation);
  /// The end of Engine::turn: publishes what it changed in the tier below, if anything.
  void turn_below();
  /// Serves a reader that asks for a keyframe while no operation happens.
  void serve_waiting_readers();

 private:
  Publisher(std::unique_ptr<FeedSink> sink, const EngineState& state, Texts texts, bool has_feed);
  void texts();
  void totals();
  void tier_totals(const EngineState& tier);
  void tier_keyframe(const EngineState& tier);
  void tree(const EngineState& state, FeedWriter& feed);
  void policy(const GroupLabel& label, std::size_t group, FeedWriter& feed);
  void commit(Operation operation);
  void answer(FeedDesk& desk);
  void listener_turn();

  const EngineState& state_;
  std::unique_ptr<FeedSink> sink_;
  FeedWriter& feed_;
  std::optional<FeedWriter> below_;  ///< of the tier below
  Texts texts_;
  bool has_feed_;
  /// What was told of each pool last.
  struct Told {
    std::uint64_t pages = 0, limit = 0, changes = 0;
  };
  using ToldPools = std::array<Told, kMaxGroups>;
  void pool_changes(const EngineState& state, FeedWriter& feed, ToldPools& told_pools);
  ToldPools told_{}, told_below_{};
  std::unique_ptr<StorageTeller> storage_;
  std::uint64_t keyframes_told_ = 0, commits_ = 0;
  std::uint64_t published_ = 0;                            ///< FeedWriter::at after the last commit
  std::uint32_t readers_told_ = 0;                         ///< what the desk said when it was last looked at
  std::chrono::steady_clock::time_point keyframe_from_{};  ///< the next keyframe, but for some in advance
};

}  // namespace canopy
