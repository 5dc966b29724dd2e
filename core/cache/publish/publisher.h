#pragma once

#include <canopy/base/result.h>
#include <canopy/feed/sink.h>

#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <cache/cache_state.h>

namespace canopy {

/// Writes an engine's events to a feed. It only reads the state.
class Publisher {
 public:
  /// Texts about the configuration for readers of the feed.
  struct Texts {
    std::string config;                          ///< YAML
    std::vector<std::string> plugins, refusals;  ///< fields separated by tabs
  };
  /// Opens a publisher. `listener` receives the tree's changes from the first operation on, with or without a feed
  /// (Kind::off). May be null (no listener). It outlives the publisher. REQUIRES: `state` outlives every call here (the
  /// destructor does not touch it); its page_size, overlap, groups and pools are set.
  static Result<std::unique_ptr<Publisher>> open(FeedConfig feed, const CacheState& state, Texts texts,
                                                 TreeListener* listener = nullptr);

  FeedSink& sink() { return *sink_; }
  /// Returns false if there is only a listener; the sink then has no readers.
  bool has_feed() const { return has_feed_; }
  FeedWriter& writer() { return feed_; }
  /// Returns the writer for the index of the tier below, whose events go into the same feed. May be null (no feed).
  FeedWriter* writer_below();
  bool on() const { return feed_.on(); }

  /// Pushes a keyframe: the events that build the present state.
  void keyframe();
  void space(NamespaceId space);
  void policy(std::size_t group);
  /// Pushes a tenant's share, and shares of new tenants. REQUIRES: tenants have shares.
  void share(TenantId tenant);
  /// Pushes what left a tenant of the first group. `taker`: the tenant that needed it; nothing: none in particular.
  void evicted(TenantId from, std::optional<TenantId> taker, std::uint64_t pages, bool below_floor);
  /// Pushes the namespace for which the operation evicts.
  void evicted_for(NamespaceId space);
  void paused();
  void pinned(NodeId node, bool pinned);
  /// `node`: where the request's match ended; 0: at the latest lock of this operation.
  void request_begun(const RequestState& request, NodeId node = {});
  /// `hit`: tokens of its prompt that count as found.
  void request_admitted(const RequestState& request, std::uint32_t hit);
  void progress(const RequestState& request, RequestPhase phase);
  /// Pushes the pages that the pool has just handed out, in sequence from a place of the row on.
  void new_pages(const RequestState& request, std::size_t group, std::size_t place);
  /// Pushes all pages that the request owns from a place of the row on.
  void own_pages(const RequestState& request, std::size_t group, std::size_t place);
  void freed(std::size_t group, std::span<const Page> pages);
  /// Sets the pool size of an IndexSession's caller. Returns false if nothing changed.
  bool callers_pool(std::uint64_t pages, std::uint64_t free);

  /// Ends an operation: publishes it, and serves readers that attached, detached or were overtaken.
  void turn(Operation operation);
  /// Ends Engine::turn: publishes its changes in the tier below, if any.
  void turn_below();
  /// Sends a keyframe to readers that wait for one between operations.
  void serve_waiting_readers();

 private:
  Publisher(std::unique_ptr<FeedSink> sink, const CacheState& state, Texts texts, bool has_feed);
  void texts();
  void totals();
  void tier_totals(const CacheState& tier);
  void counters(std::string_view tier);
  void tier_keyframe(const CacheState& tier);
  void tree(const CacheState& state, FeedWriter& feed);
  void tenants();
  void new_tenants();
  void push_share(TenantId tenant);
  void tenant_of(NamespaceId space);
  void policy(const GroupLabel& label, std::size_t group, FeedWriter& feed);
  void commit(Operation operation);
  void answer(FeedDesk& desk);
  void listener_turn();

  const CacheState& state_;
  std::unique_ptr<FeedSink> sink_;
  FeedWriter& feed_;
  std::optional<FeedWriter> below_;  ///< writer of the tier below; empty without a feed
  Texts texts_;
  bool has_feed_;
  event::CallersPool callers_pool_;  ///< 0 pages: unknown.
  /// Values last sent for each pool.
  struct Sent {
    std::uint64_t pages = 0, limit = 0, changes = 0;
  };
  using SentPools = std::array<Sent, kMaxGroups>;
  void pool_changes(const CacheState& state, FeedWriter& feed, SentPools& sent_pools);
  SentPools sent_{}, sent_below_{};
  struct SentCounters {
    CounterValues values;
    Event health;
  } sent_counters_;               ///< Values last sent.
  std::size_t tenants_sent_ = 0;  ///< tenants whose share was sent
  std::uint64_t keyframes_sent_ = 0, commits_ = 0;
  std::uint64_t published_ = 0;                            ///< FeedWriter::at after the last commit
  std::uint32_t readers_sent_ = 0;                         ///< number of readers at the last check
  std::chrono::steady_clock::time_point keyframe_from_{};  ///< time of the next keyframe; some may be sent early
};

}  // namespace canopy
