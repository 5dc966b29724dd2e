#pragma once

#include <bridge/names.h>
#include <bridge/tree.h>
#include <canopy/feed/sink.h>
#include <canopy/kv_events/event.h>
#include <canopy/kv_events/in_order.h>
#include <canopy/kv_events/stream.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace canopy::bridge {

/// Makes a feed from the KV events of other servers. Messages go in, in any order, live and replayed; readers of the
/// feed see the workers' trees side by side, each in namespaces of its own. It opens no socket and starts no thread.
///
/// The feed begins with the first block that is stored, because its header has the tokens of a page. Events in blocks
/// of another size are counted and left out.
class Follower {
 public:
  struct Options {
    FeedConfig feed;                   ///< `feed.tokens` keeps the tokens of all blocks.
    std::vector<std::string> sources;  ///< Endpoints or files, for messages to users.
    /// Missing messages may still come: from a replay socket, or later in a file. Otherwise a gap is given up after
    /// kPatienceUs.
    bool repairs = false;
    bool repeats_are_reports = false;  ///< See Tree::Options.
  };
  static constexpr std::uint64_t kPatienceUs = 1'000'000;
  explicit Follower(Options options);
  ~Follower();

  /// Takes a message of source number `source`. `now_us`: since the beginning, never less than before. A payload that
  /// cannot be read is counted, see trouble().
  void take(std::size_t source, const kv_events::Message& message, bool replayed, std::uint64_t now_us);
  /// Ends a source's replay of all messages from `from` on, or records that it will not come: gives up the gaps that it
  /// should have filled.
  void replay_ended(std::size_t source, std::uint64_t from, std::uint64_t now_us);
  /// Records a new connection to a source, which may be another publisher. REQUIRES: a replay is requested next.
  void reconnected(std::size_t source);
  /// Records the reason why a source's messages have stopped; an empty text: they arrive again. Readers see it.
  void set_lost(std::size_t source, std::string why);
  /// Returns where a replay of a source should begin; nothing if no message is missing.
  std::optional<std::uint64_t> wants_replay(std::size_t source) const;
  /// Serves readers that attach, and gives gaps up in time. Call it often, whether messages come or not.
  void turn(std::uint64_t now_us);
  /// Places the blocks whose parent has come since they were stored; turn() does so from time to time.
  void mend(std::uint64_t now_us);
  /// Ends the feed; see FeedSink::finish.
  void finish();

  bool has_feed() const { return sink_ != nullptr; }
  /// Returns why the feed cannot be made or written any longer; empty while it can.
  std::string failure() const { return sink_ ? sink_->failure() : failure_; }
  /// Returns the last problem: a message that could not be read, or a tree too large for the feed's ring. May be empty.
  const std::string& trouble() const { return trouble_; }
  std::uint64_t unreadable() const { return unreadable_; }
  const Names& names() const { return names_; }
  /// Returns the tree; null until the feed begins.
  const Tree* tree() const { return tree_.get(); }
  /// REQUIRES: has_feed().
  FeedSink& sink() { return *sink_; }
  const kv_events::InOrder::Counts& counts_of(std::uint16_t worker) const { return workers_[worker].order.counts(); }
  /// Returns "whole", or what is missing of a worker. No worker is whole of which blocks were left out.
  std::string state_of(std::uint16_t worker) const;
  /// Returns the doubts of all figures: messages that never came, or could not be read, and blocks that were left out.
  /// Blocks of windows and states for whose group there is no room are none: full attention decides how long a prefix
  /// is. state_of() and report() have them.
  Doubts doubts() const;
  /// Returns the figures of all workers, a line each: `label: value`. Leaves out what did not happen.
  std::string report() const;

 private:
  struct Worker {
    kv_events::InOrder order;
    std::uint64_t waits_since_us = 0;
    std::uint64_t batches = 0;
    std::uint64_t left_out = 0;  ///< blocks that were left out since its cache was last empty
  };
  void apply(std::uint16_t worker, const kv_events::EventBatch& batch, std::uint64_t now_us);
  void apply_held(std::uint16_t worker, std::uint64_t now_us);
  std::optional<std::uint8_t> group_of(const kv_events::EventBatch& batch, const kv_events::Event& event);
  void leave_out(std::uint16_t worker, std::uint64_t blocks, std::uint64_t& sum);
  void store(std::uint16_t worker, const kv_events::EventBatch& batch, const kv_events::Event& event);
  void remove(std::uint16_t worker, const kv_events::EventBatch& batch, const kv_events::Event& event);
  void clear(std::uint16_t worker);
  void begin(Units page_size);
  void commit(Operation operation, std::uint64_t now_us);
  void send_names(bool all);
  bool send_workers(bool all);
  void keyframe(std::uint64_t now_us);
  void serve_readers(std::uint64_t now_us);

  Options options_;
  Names names_;
  std::vector<Worker> workers_;
  std::vector<std::string> lost_;  ///< By source, see set_lost().
  std::unique_ptr<FeedSink> sink_;
  std::unique_ptr<Tree> tree_;
  Units page_size_ = 0;
  kv_events::EventBatch batch_, held_batch_;
  std::vector<std::uint64_t> hashes_;  ///< Hashes of the event that is applied.
  std::vector<Token> tokens_;
  Operation operation_{};
  Tick tick_ = 0;
  std::uint64_t operations_ = 0;
  std::string trouble_, failure_;
  std::uint64_t unreadable_ = 0, other_sizes_ = 0, left_out_ = 0, other_groups_ = 0, unknown_fields_ = 0;
  std::int64_t other_size_ = 0;
  // Content of the feed.
  std::vector<std::string> sent_lines_;
  std::size_t sent_spaces_ = 0, sent_groups_ = 0, sent_workers_ = 0;
  std::uint64_t keyframes_sent_ = 0, workers_at_us_ = 0, mend_at_us_ = 0, keyframe_at_us_ = 0, look_at_us_ = 0;
};

}  // namespace canopy::bridge
