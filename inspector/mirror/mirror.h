#pragma once

#include <canopy/feed/events.h>
#include <canopy/feed/header.h>
#include <canopy/types.h>

#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "mirror_state.h"
#include "mirror_watcher.h"

namespace canopy::inspector {

/// The tree, its pools and its requests as they are now, from the events of a feed and nothing else. It takes whole
/// commits. It counts everything itself, and says how far that is from what the engine counted (drift).
class Mirror {
 public:
  using Space = MirrorSpace;
  explicit Mirror(const FeedShape& header);

  /// Events in order. Events after the last Commit are kept until their Commit arrives. `watcher` is told what they do,
  /// if there is one.
  void take(std::span<const Event> events, MirrorWatcher* watcher = nullptr);
  /// Some were lost: skips everything until the next keyframe.
  void lost();
  /// Resets to the initial state: for going back in a recording.
  void reset();
  /// Keeps why each request missed, for this mirror and its copies, through reset: once a recording has been read to
  /// the end, the reason is known from a request's begin on. Memory grows with the requests, some 80 bytes each.
  void learn() { state_.requests.learn(); }
  /// Approximate bytes of a copy. Memory that copies share counts in full.
  std::size_t bytes() const;

  bool in_step() const { return in_step_; }  ///< false before the first keyframe, and after a loss
  std::uint64_t commits() const { return state_.commits; }
  Tick tick() const { return state_.tick; }
  std::uint64_t us() const { return state_.us; }  ///< of the engine's clock
  /// Tokens of the prompts that came so far: a clock of the work that was asked for.
  std::uint64_t prompt_tokens() const { return state_.prompt_tokens; }
  std::uint32_t running() const { return state_.running; }
  /// Pages by which the mirror's sums and the engine's totals differed when those came last, over all pools; 0, or
  /// something is wrong.
  std::uint64_t drift() const { return state_.drift; }
  /// Events of kinds that this version does not know, which it skipped.
  std::uint64_t unknown_events() const { return state_.unknown_events; }
  /// Operations whose figures cannot be: another process has written into the feed. What is shown is then not so.
  std::uint64_t damaged() const { return state_.damaged; }

  Units page_size() const { return state_.page_size; }
  std::size_t groups() const { return state_.pools.size(); }
  bool has_words() const { return state_.has_words; }  ///< the feed carries tokens, so that nodes have their words
  const MirrorPool& pool(std::size_t group) const { return state_.pools[group]; }

  const MirrorTier& tier() const { return state_.tier; }
  /// Null: there is none.
  const MirrorStorage* storage() const { return state_.storage.name.empty() ? nullptr : &state_.storage; }
  /// The tree and the pools of the tier below, as a mirror of its own; null: no such tree was told of. Its clock of
  /// nodes is that tier's own, and pages that a copy fills count as free (MirrorPool::below has them).
  const Mirror* below() const { return below_.empty() ? nullptr : &below_.front(); }

  std::size_t slots() const { return state_.nodes.size(); }
  /// visit(node) of every node, in no particular order.
  template <class Visit>
  void each_node(Visit&& visit) const {
    state_.nodes.each([&](std::uint32_t slot) { visit(state_.nodes[slot]); });
  }
  std::size_t node_count() const { return state_.node_count; }
  const MirrorNode& node(std::uint32_t slot) const { return state_.nodes[slot]; }
  /// The node of an id, null if it was evicted.
  const MirrorNode* find(std::uint64_t id) const { return state_.find(id); }
  NodeState state(const MirrorNode& node, std::size_t group) const;
  /// Whether it waits to be evicted.
  bool waits(const MirrorNode& node, std::size_t group) const;
  /// Locks that hold the node: for whole-path groups the sum over what hangs below. O(subtree).
  std::uint64_t locks(const MirrorNode& node, std::size_t group) const;
  const std::vector<Space>& spaces() const { return state_.spaces; }
  /// For people; a namespace that was not told of is called by its number.
  std::string space_name(NamespaceId space) const;
  /// Slots of nodes that wait to be evicted, next ones first, at most `most` of them. O(nodes).
  std::vector<std::uint32_t> next_to_evict(std::size_t group, std::size_t most) const;

  const std::vector<MirrorRequest>& requests() const { return state_.requests.all(); }  ///< in the order they came
  const MirrorRequest* request(std::uint64_t id) const { return state_.requests.find(id); }
  /// A sentence for a person.
  std::string why_missed(const MirrorRequest& request) const;
  /// Tokens of the request that it could have found at most.
  std::uint32_t reusable(const MirrorRequest& request) const { return request.reusable(page_size()); }
  /// Of the requests that are remembered, of one namespace or of all; most tokens first.
  std::vector<MissGroup> misses(std::optional<NamespaceId> space = {}) const;

  const std::vector<Sample>& samples() const { return state_.past.samples(); }  ///< evenly thinned out, oldest first
  const std::deque<LogLine>& log() const { return state_.past.log(); }          ///< the last some thousand
  /// What is remembered of a node, oldest first.
  std::vector<NodeMoment> history(std::uint64_t node) const { return state_.past.history(node); }

  const std::deque<NodeMoment>& moments() const { return state_.past.moments(); }  ///< oldest first
  /// See MirrorPast::ghost.
  const Ghost* ghost(std::uint64_t node) const { return state_.past.ghost(node); }

  /// Why the engine is paused; empty while it runs.
  const std::string& paused() const { return state_.paused; }
  /// Ids of nodes that a person pinned, smallest first.
  const std::set<std::uint64_t>& pins() const { return state_.pins; }

  /// Which KV events of other servers this is made from; empty: an engine's own feed. What such events cannot tell is 0
  /// or empty here, and must be shown as not known: locks, ranks, requests, page numbers, free pages.
  const std::string& origin() const { return state_.origin; }
  bool is_from_events() const { return !state_.origin.empty(); }
  /// Why the feed tells of no node; empty: it does. Nodes, the owners of pages, and why a prompt missed are not known
  /// then, and a pool's sums are the engine's own.
  const std::string& no_nodes() const { return state_.no_nodes; }
  const std::vector<std::string>& workers() const { return state_.workers; }  ///< fields (WorkerField) apart by tabs

  const std::string& config() const { return state_.config; }
  const std::vector<std::string>& plugins() const { return state_.plugins; }  ///< fields apart by tabs
  const std::vector<std::string>& refusals() const { return state_.refusals; }

  /// All nodes as they are now, by id, to compare with later.
  using Moment = std::unordered_map<std::uint64_t, NodeThen>;
  Moment moment() const;
  static Difference difference(const Moment& before, const Moment& after);

 private:
  void take_commit(std::span<const Event> events, MirrorWatcher* watcher);
  void commit(const Event& event);
  void forget();
  void begin_again(const event::Commit& end);
  Sample sample() const;
  void take_below(std::span<const Event> events, bool keyframe);

  MirrorState state_;
  std::vector<Mirror> below_;         ///< one or none
  std::vector<Event> pending_;        ///< since the last commit
  std::vector<Event> pending_below_;  ///< what the commit that is taken says of the tier below
  bool in_step_ = false;
  bool listened_ = false;  ///< it was in step before
};

}  // namespace canopy::inspector
