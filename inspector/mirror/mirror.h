#pragma once

#include <canopy/feed/feed.h>
#include <canopy/types.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "mirror_node.h"
#include "mirror_past.h"
#include "mirror_pool.h"
#include "mirror_request.h"

namespace canopy::inspector {

/// The living tree, its pools and its requests, from the events of a feed and nothing else. Takes whole commits;
/// counts everything itself, and says how far that is from what the engine counted (drift).
class Mirror {
 public:
  explicit Mirror(const FeedHeader& header);

  /// Events in order. What comes after the last commit waits for its own.
  void take(std::span<const Event> events);
  /// Some were lost: everything is skipped until the next keyframe.
  void lost();
  /// As on the first day: for going back in a recording.
  void reset();
  /// Keeps why each request missed, for it and its copies, through reset: in a recording it is known from a request's
  /// begin on once it has been read to the end. Memory grows with the requests, some 80 bytes each.
  void learn() { learned_ = std::make_shared<std::unordered_map<std::uint64_t, Verdict>>(); }
  /// About what a copy takes; what it shares with others counted in full.
  std::size_t bytes() const;

  bool in_step() const { return in_step_; }  ///< false before the first keyframe, and after a loss
  std::uint64_t commits() const { return commits_; }
  Tick tick() const { return tick_; }
  std::uint64_t us() const { return us_; }  ///< of the engine's clock
  /// Pages by which the mirror's sums and the engine's totals differed when those came last, over all pools; 0 or
  /// something is wrong.
  std::uint64_t drift() const { return drift_; }

  Units page_size() const { return page_size_; }
  std::size_t groups() const { return pools_.size(); }
  bool has_words() const { return has_words_; }  ///< the feed carries tokens, so that nodes have their words
  const MirrorPool& pool(std::size_t group) const { return pools_[group]; }

  std::size_t slots() const { return nodes_.size(); }
  /// visit(node) of every node, in no particular order.
  template <class Visit>
  void each_node(Visit&& visit) const {
    nodes_.each([&](std::uint32_t slot) { visit(nodes_[slot]); });
  }
  std::size_t node_count() const { return node_count_; }
  const MirrorNode& node(std::uint32_t slot) const { return nodes_[slot]; }
  /// The node of an id, null if it has left.
  const MirrorNode* find(std::uint64_t id) const;
  NodeState state(const MirrorNode& node, std::size_t group) const;
  bool waits(const MirrorNode& node, std::size_t group) const;
  /// Locks that hold the node: for whole-path groups the sum over what hangs below. O(subtree).
  std::uint64_t locks(const MirrorNode& node, std::size_t group) const;

  struct Space {
    std::string name;
    std::uint32_t first_child = 0, last_child = 0;
    std::uint64_t tokens = 0, nodes = 0;
  };
  const std::vector<Space>& spaces() const { return spaces_; }

  /// Those who wait to leave, next ones first, at most `most` of them. O(nodes).
  std::vector<std::uint32_t> next_to_leave(std::size_t group, std::size_t most) const;

  const std::vector<MirrorRequest>& requests() const { return requests_; }  ///< in the order they came; old ones go
  const MirrorRequest* request(std::uint64_t id) const;
  /// A sentence for a person.
  std::string why_missed(const MirrorRequest& request) const;
  /// Tokens of the request that it could have found at most: whole pages, and one token is always computed.
  std::uint32_t reusable(const MirrorRequest& request) const {
    return request.prompt > 0 ? (request.prompt - 1) / page_size_ * page_size_ : 0;
  }
  /// Of the requests that are remembered, of one namespace or of all; most tokens first.
  std::vector<MissGroup> misses(std::optional<NamespaceId> space = {}) const;

  const std::vector<Sample>& samples() const { return samples_; }  ///< evenly thinned out, oldest first
  const std::deque<LogLine>& log() const { return log_; }          ///< the last some thousand
  std::vector<NodeMoment> history(std::uint64_t node) const;       ///< what is remembered of it, oldest first

  /// Why the engine stands still; empty while it runs.
  const std::string& paused() const { return paused_; }
  /// Ids of nodes that a person pinned, smallest first.
  const std::set<std::uint64_t>& pins() const { return pins_; }

  const std::string& config() const { return config_; }
  const std::vector<std::string>& plugins() const { return plugins_; }  ///< fields apart by tabs
  const std::vector<std::string>& refusals() const { return refusals_; }

  /// All nodes as they are now, by id, to compare with later.
  using Moment = std::unordered_map<std::uint64_t, NodeThen>;
  Moment moment() const;
  static Difference difference(const Moment& before, const Moment& after);

 private:
  /// A node that has left, so that it is known when it comes again.
  struct Ghost {
    std::uint64_t id = 0, digest = 0;
    Units begin = 0, length = 0;
    Tick left = 0;
    std::string policy;
  };
  // What no engine of this machine has: a recording that says so is damaged, and that part of it is passed over.
  static constexpr std::uint32_t kMostSlots = std::uint32_t{1} << 27;
  static constexpr std::size_t kMostTexts = 65536;

  void take_commit(std::span<const Event> events);
  void apply(const Event& event);
  void commit(const Event& event);
  void forget();
  std::uint32_t slot_of_id(std::uint64_t id) const;
  MirrorNode* writable(std::uint64_t id);
  void add(const Event& event);
  void name(const Event& event);
  void say(const Event& event);
  void split(const Event& event);
  void remove(const Event& event);
  void lock(std::uint64_t id, std::size_t group, std::uint64_t from);
  void unlock(std::uint64_t id, std::size_t group, std::uint64_t from);
  void relax(const Event& event);
  void adopt_pages(const Event& event);
  void own_row(const Event& event);
  void take_over(MirrorNode& node, const MirrorRequest& request);
  void free_pages(MirrorNode& node, std::size_t group);
  void attach(std::uint32_t slot, std::uint32_t parent, NamespaceId space);
  void detach(std::uint32_t slot);
  void own(std::size_t group, Page first, std::uint32_t count, std::int64_t owner);
  void hold(MirrorNode& node, std::size_t group, bool more);
  void count(const MirrorNode& node, std::size_t group, bool in);
  void begin_request(const Event& event);
  void move_request(const Event& event);
  void take_text(const Event& event);
  void settle_holds();
  void sample();
  void bury(const MirrorNode& node);
  void revive(const MirrorNode& node);
  std::uint64_t above(const MirrorNode& node) const;
  void remember(std::uint64_t node, EventKind kind);
  MirrorRequest* find_request(std::uint64_t id);

  Units page_size_;
  bool has_words_;
  std::vector<MirrorPool> pools_;
  NodeBlocks nodes_;
  std::vector<Space> spaces_;
  std::vector<MirrorRequest> requests_;
  std::unordered_map<std::uint64_t, std::size_t> request_places_;
  std::shared_ptr<std::unordered_map<std::uint64_t, Verdict>> learned_;  ///< null: not kept
  std::vector<Event> pending_;                                           ///< since the last commit
  bool in_step_ = false;
  std::uint64_t commits_ = 0, us_ = 0, drift_ = 0;
  Tick tick_ = 0;
  std::size_t node_count_ = 0;
  std::uint64_t prompt_tokens_ = 0, hit_tokens_ = 0, evicted_tokens_ = 0, request_count_ = 0;
  std::uint32_t running_ = 0;
  std::vector<Sample> samples_;
  std::uint64_t sample_every_ = 1;
  std::deque<LogLine> log_;
  std::deque<NodeMoment> moments_;
  std::unordered_map<std::uint64_t, std::vector<Ghost>> ghosts_;  ///< by the id of the node they hung below; 0 + space
  std::size_t ghost_count_ = 0;
  std::unordered_map<std::uint64_t, std::vector<NamespaceId>> first_pages_;  ///< digest of a first page: where it is
  LogLine line_;                                                             ///< of the commit being applied
  Ghost revived_{};                 ///< what this commit brought back; id 0: nothing
  bool totalled_ = false;           ///< totals came with this commit
  bool filled_ = false;             ///< this commit filled a gap
  std::uint64_t fresh_digest_ = 0;  ///< of the first page of what this commit added below a root; 0 nothing
  NamespaceId fresh_space_{};
  std::uint64_t locked_node_ = 0;  ///< the last lock of this commit
  std::string text_;               ///< pieces of the text being told
  std::string config_, paused_;
  std::set<std::uint64_t> pins_;
  std::vector<std::string> plugins_, refusals_;
};

}  // namespace canopy::inspector
