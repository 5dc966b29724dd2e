#pragma once

#include <canopy/base/doubts.h>
#include <canopy/feed/events.h>
#include <canopy/feed/header.h>
#include <canopy/types.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "mirror_state.h"
#include "mirror_watcher.h"

namespace canopy::inspector {

/// The present state of the tree, its pools and its requests, built only from the events of a feed. It applies whole
/// commits. It counts everything itself and reports the difference from the engine's counts (drift).
class Mirror {
 public:
  using Space = MirrorSpace;
  explicit Mirror(const FeedShape& header);

  /// Takes events in order. Events after the last Commit are kept until their Commit arrives. `watcher` is called for
  /// their effects; may be null (no watcher).
  void take(std::span<const Event> events, MirrorWatcher* watcher = nullptr);
  /// Records a loss of events: skips everything until the next keyframe.
  void lost();
  /// Resets to the initial state, for going back in a recording.
  void reset();
  /// Keeps the reason of each miss for this mirror and its copies, also after reset(): once a recording has been read
  /// to the end, the reason is known from a request's begin on. Memory grows with the requests, about 80 bytes each.
  void learn() { state_.requests.learn(); }
  /// Returns the approximate bytes of a copy. Memory that copies share counts in full.
  std::size_t bytes() const;

  bool in_step() const { return in_step_; }  ///< false before the first keyframe, and after a loss
  std::uint64_t commits() const { return state_.commits; }
  Tick tick() const { return state_.tick; }
  std::uint64_t us() const { return state_.us; }                        ///< microseconds of the engine's clock
  std::uint64_t prompt_tokens() const { return state_.prompt_tokens; }  ///< those of the requests so far
  /// Returns a clock of requested work: the prompt tokens of requests so far, and of those that wait to be admitted.
  std::uint64_t work() const { return state_.work; }
  std::uint64_t hit_tokens() const { return state_.hit_tokens; }  ///< tokens of those prompts that were found
  std::uint64_t tries() const { return state_.tries; }            ///< requests that ended before they were admitted
  std::uint32_t running() const { return state_.running; }
  /// Pages by which the mirror's sums differed from the engine's latest totals, over all pools. Anything but 0 is an
  /// error.
  std::uint64_t drift() const { return state_.drift; }
  /// Returns the number of events of unknown kinds, which were skipped.
  std::uint64_t unknown_events() const { return state_.unknown_events; }
  /// Returns the number of operations with impossible figures: another process has written into the feed, and the
  /// mirror may be wrong.
  std::uint64_t damaged() const { return state_.damaged; }

  /// Returns the reasons why figures of this mirror may not be those of the engine, since it began: drift, damage,
  /// events that were lost or are not known, and memory that the system refused to the engine's host tier. They stay.
  Doubts doubts() const;

  Units page_size() const { return state_.page_size; }
  std::size_t groups() const { return state_.pools.size(); }
  /// Returns true if each page of each node is known by its content, so that it is found when it comes back.
  bool identifies_pages() const { return !state_.has_unnamed_pages; }
  bool has_words() const { return state_.has_words; }  ///< true if the feed carries tokens, so that nodes have words
  /// Returns false if requests had hits, but the feed reports no use of a node: what was hit most or never is not
  /// known.
  bool reports_uses() const { return state_.any_use || state_.any_hit || state_.hit_tokens == 0; }
  const MirrorPool& pool(std::size_t group) const { return state_.pools[group]; }

  /// Counters of the tiers below the pools; all are 0 without such tiers.
  const CounterValues& counters() const { return state_.counters; }
  bool has_host() const { return state_.counters[Counter::limit_pages_host] > 0; }
  /// Returns the name of the storage below the host tier; empty if there is none.
  const std::string& storage() const { return state_.storage; }
  const event::StorageHealth& storage_health() const { return state_.health; }
  /// Returns a mirror of the host tier's tree and pools, or null if the feed has no such tree. Its nodes use that
  /// tier's own clock. Pages that a copy is filling count as free (resident_pages_host and moving_pages_host include
  /// them).
  const Mirror* below() const { return below_.empty() ? nullptr : &below_.front(); }

  std::size_t slots() const { return state_.nodes.size(); }
  /// Calls visit(node) for every node, in no particular order.
  template <class Visit>
  void each_node(Visit&& visit) const {
    state_.nodes.each([&](std::uint32_t slot) { visit(state_.nodes[slot]); });
  }
  std::size_t node_count() const { return state_.node_count; }
  const MirrorNode& node(std::uint32_t slot) const { return state_.nodes[slot]; }
  /// Returns the node with an id, or null if it was evicted.
  const MirrorNode* find(std::uint64_t id) const { return state_.find(id); }
  NodeState state(const MirrorNode& node, std::size_t group) const;
  /// Returns true if the node waits to be evicted.
  bool waits(const MirrorNode& node, std::size_t group) const;
  /// Returns the locks on the node; for whole-path groups, the sum over its subtree. O(subtree).
  std::uint64_t locks(const MirrorNode& node, std::size_t group) const;
  const std::vector<Space>& spaces() const { return state_.spaces; }
  /// Returns a name for people (shown_name()). An unreported namespace is named by its number, in brackets.
  std::string space_name(NamespaceId space) const;
  /// Tenants with shares of the pools, and which paid for which.
  const MirrorTenants& tenants() const { return state_.tenants; }
  /// Returns the tokens in the tree by tenant. O(namespaces). Empty if no tenant has a share.
  std::vector<std::uint64_t> tenant_tokens() const;
  /// Returns at most `most` slots of nodes that wait to be evicted, in order of eviction. O(nodes).
  std::vector<std::uint32_t> next_to_evict(std::size_t group, std::size_t most) const;

  const std::vector<MirrorRequest>& requests() const { return state_.requests.all(); }  ///< in order of arrival
  const MirrorRequest* request(std::uint64_t id) const { return state_.requests.find(id); }
  /// Returns the reason of a miss as a sentence for people.
  std::string why_missed(const MirrorRequest& request) const;
  /// Returns the reason for the tokens that had not been evicted.
  std::string why_not_found(const MirrorRequest& request) const;
  /// Returns the most tokens that the request could have found.
  std::uint32_t reusable(const MirrorRequest& request) const { return request.reusable(page_size()); }
  /// Returns the misses of the remembered requests, of one namespace or all; most tokens first. `counts`: chooses the
  /// requests that count; may be empty (all do).
  std::vector<MissGroup> misses(std::optional<NamespaceId> space = {},
                                const std::function<bool(const MirrorRequest&)>& counts = {}) const;

  /// Tokens that left the first group one by one, for any cause but a flush, since the mirror began.
  std::uint64_t evicted_tokens() const { return state_.evicted_tokens; }
  const std::vector<Sample>& samples() const { return state_.past.samples(); }  ///< evenly thinned out, oldest first
  const std::deque<LogLine>& log() const { return state_.past.log(); }          ///< the latest few thousand
  /// Returns the remembered events of a node, oldest first.
  std::vector<NodeMoment> history(std::uint64_t node) const { return state_.past.history(node); }

  const std::deque<NodeMoment>& moments() const { return state_.past.moments(); }  ///< oldest first
  /// Returns true if evicted nodes were too many to remember: what came back may be more.
  bool has_forgotten() const { return state_.horizon.before == Miss::forgotten; }
  /// See MirrorPast::ghost.
  const Ghost* ghost(std::uint64_t node) const { return state_.past.ghost(node); }

  /// Returns the reason why the engine is paused; empty while it runs.
  const std::string& paused() const { return state_.paused; }
  /// Ids of nodes that a user pinned, ascending.
  const std::set<std::uint64_t>& pins() const { return state_.pins; }

  /// Returns the name of the KV events of other servers from which this is made; empty for an engine's own feed. What
  /// such events cannot report is 0 or empty here and must be shown as unknown: locks, ranks, requests, page numbers,
  /// free pages.
  const std::string& origin() const { return state_.origin; }
  bool is_from_events() const { return !state_.origin.empty(); }
  /// Returns the reason why the feed reports no nodes; empty if it reports them. Without nodes, the owners of pages and
  /// the reasons of misses are unknown, and a pool's sums are the engine's own.
  const std::string& no_nodes() const { return state_.no_nodes; }
  const std::vector<std::string>& workers() const { return state_.workers; }  ///< fields: WorkerField, tab-separated

  const std::string& config() const { return state_.config; }
  const std::vector<std::string>& plugins() const { return state_.plugins; }  ///< fields separated by tabs
  const std::vector<std::string>& refusals() const { return state_.refusals; }

  /// All nodes at present, by id, for a later comparison.
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
  std::vector<Mirror> below_;         ///< zero or one
  std::vector<Event> pending_;        ///< events since the last commit
  std::vector<Event> pending_below_;  ///< events of the tier below in the current commit
  bool in_step_ = false;
  bool listened_ = false;  ///< true if it was in step before
};

}  // namespace canopy::inspector
