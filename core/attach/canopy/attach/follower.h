#pragma once

#include <canopy/attach/in_order.h>
#include <canopy/attach/names.h>
#include <canopy/attach/tree.h>
#include <canopy/feed/sink.h>
#include <canopy/support/result.h>
#include <canopy/wire/event.h>
#include <canopy/wire/stream.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace canopy::attach {

/// A feed made from the KV events of other servers. Messages go in, in any order, live and replayed; readers of the
/// feed see the workers' trees side by side, a namespace or several for each. It opens no socket and starts no thread.
///
/// The feed begins with the first block that is stored, since a feed says in front how many tokens a page has. Events
/// in blocks of another size are counted and left out.
class Follower {
 public:
  struct Options {
    FeedConfig feed;                   ///< its `tokens` keeps the tokens of all blocks
    std::vector<std::string> sources;  ///< endpoints or files, for people
    /// Messages that are missing may still come: from a replay socket, or later in a file. Otherwise a gap is given up
    /// after kPatienceUs.
    bool repairs = false;
    bool repeats_are_reports = false;  ///< see Tree::Options
  };
  static constexpr std::uint64_t kPatienceUs = 1'000'000;
  explicit Follower(Options options);
  ~Follower();

  /// A message of source number `source`. `now_us`: since the beginning, never less than before. An error: the feed
  /// cannot be made. A payload that cannot be read is counted, and the sentence kept (trouble()).
  Result<std::monostate> take(std::size_t source, const wire::Message& message, bool replayed, std::uint64_t now_us);
  /// A source's replay of all messages from `from` on has ended, or will not come: what it should have filled is given
  /// up.
  Result<std::monostate> replay_ended(std::size_t source, std::uint64_t from, std::uint64_t now_us);
  /// A source was connected again: it may be another publisher. REQUIRES: a replay is asked for next.
  void reconnected(std::size_t source);
  /// Where a replay of a source shall begin; nothing: no message is missing.
  std::optional<std::uint64_t> wants_replay(std::size_t source) const;
  /// Call it often, whether messages come or not: readers that attach are served, and gaps given up in time.
  Result<std::monostate> turn(std::uint64_t now_us);
  /// The feed ends; see FeedSink::finish.
  void finish();

  bool has_feed() const { return sink_ != nullptr; }
  /// Why the feed can no longer be written; empty while it can.
  std::string failure() const { return sink_ ? sink_->failure() : std::string(); }
  /// What was wrong last: with a message that could not be read, or a tree too large for the feed's ring. Empty:
  /// nothing.
  const std::string& trouble() const { return trouble_; }
  std::uint64_t unreadable() const { return unreadable_; }
  const Names& names() const { return names_; }
  /// Null until the feed begins.
  const Tree* tree() const { return tree_.get(); }
  /// REQUIRES: has_feed().
  FeedSink& sink() { return *sink_; }
  const InOrder::Counts& counts_of(std::uint16_t worker) const { return workers_[worker].order.counts(); }
  /// Of a worker: "whole", or what is missing, as a sentence.
  std::string state_of(std::uint16_t worker) const;
  /// Figures of all, a line each: `label: value`. What did not happen has no line.
  std::string report() const;

 private:
  struct Worker {
    InOrder order;
    std::uint64_t waits_since_us = 0;
    std::uint64_t batches = 0;
    double time = 0;
  };
  Result<std::monostate> apply(std::uint16_t worker, const wire::EventBatch& batch, std::uint64_t now_us);
  Result<std::monostate> apply_held(std::uint16_t worker, std::uint64_t now_us);
  Result<std::monostate> store(std::uint16_t worker, const wire::EventBatch& batch, const wire::Event& event);
  void remove(std::uint16_t worker, const wire::EventBatch& batch, const wire::Event& event);
  void clear(std::uint16_t worker);
  Result<std::monostate> begin(Units page_size);
  void commit(Operation operation, std::uint64_t now_us);
  void tell_names(bool all);
  bool tell_workers(bool all);
  void keyframe(std::uint64_t now_us);
  void serve_readers(std::uint64_t now_us);

  Options options_;
  Names names_;
  std::vector<Worker> workers_;
  std::unique_ptr<FeedSink> sink_;
  std::unique_ptr<Tree> tree_;
  Units page_size_ = 0;
  wire::EventBatch batch_, held_batch_;
  std::vector<std::uint64_t> hashes_;
  std::vector<Token> tokens_;
  Operation operation_{};
  Tick tick_ = 0;
  std::uint64_t operations_ = 0;
  std::string trouble_;
  std::uint64_t unreadable_ = 0, other_sizes_ = 0, left_out_ = 0, unknown_fields_ = 0;
  std::int64_t other_size_ = 0;
  // What readers were told.
  std::vector<std::string> told_lines_;
  std::size_t told_spaces_ = 0, told_groups_ = 0, told_workers_ = 0;
  std::uint64_t keyframes_told_ = 0, workers_at_us_ = 0, mend_at_us_ = 0, keyframe_at_us_ = 0, look_at_us_ = 0;
};

}  // namespace canopy::attach
