#pragma once

#include <canopy/eviction_strategy.h>
#include <canopy/feed.h>
#include <canopy/types.h>

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace canopy::inspector {

/// Page numbers in a row that a node or a request has, from place `place` of it on.
struct PageRun {
  std::uint32_t place = 0;
  Page first = 0;
  std::uint32_t count = 0;
  std::uint8_t group = 0;
};

/// A node as the feed told it. Slots are those of the index: slot_of(NodeId).
struct MirrorNode {
  std::uint64_t id = 0;                                                           ///< 0: nobody in this slot
  std::uint32_t parent = 0, first_child = 0, last_child = 0, next = 0, prev = 0;  ///< slots; 0 none
  std::uint32_t children = 0;
  NamespaceId space{};
  Units begin = 0, length = 0;
  std::uint16_t resident = 0;                    ///< bit g: group g has its pages
  std::array<std::uint32_t, kMaxGroups> hold{};  ///< whole path: own locks + held children; else: locks over it
  std::array<Rank, kMaxGroups> rank{};           ///< as last told; it counts while the node waits
  std::uint32_t hits = 0, inserts = 0;
  std::int32_t priority = 0;
  Tick created = 0, last_access = 0;
  std::uint64_t digest = 0;
  std::uint64_t added_at = 0;        ///< commit
  std::vector<PageRun> pages;        ///< of all groups
  std::vector<std::uint32_t> words;  ///< only if the feed carries tokens

  Units end() const { return begin + length; }
  bool has(std::size_t group) const { return resident >> group & 1; }
};

/// Nodes by slot, in blocks that are made when they are first written: slots may be few and far apart.
class NodeBlocks {
 public:
  MirrorNode& operator[](std::uint32_t slot) {
    if (blocks_.size() <= slot / kBlock) blocks_.resize(slot / kBlock + 1);
    auto& block = blocks_[slot / kBlock];
    if (!block) block = std::make_unique<MirrorNode[]>(kBlock);
    return block[slot % kBlock];
  }
  const MirrorNode& operator[](std::uint32_t slot) const {
    static const MirrorNode kNobody{};
    return slot / kBlock < blocks_.size() && blocks_[slot / kBlock] ? blocks_[slot / kBlock][slot % kBlock] : kNobody;
  }
  std::size_t size() const { return blocks_.size() * kBlock; }  ///< every slot is below
  void clear() { blocks_.clear(); }
  /// visit(slot) of every node there is.
  template <class Visit>
  void each(Visit&& visit) const {
    for (std::size_t b = 0; b < blocks_.size(); ++b)
      for (std::size_t i = 0; blocks_[b] && i < kBlock; ++i)
        if (blocks_[b][i].id) visit(static_cast<std::uint32_t>(b * kBlock + i));
  }

 private:
  static constexpr std::size_t kBlock = 1024;
  std::vector<std::unique_ptr<MirrorNode[]>> blocks_;
};

enum class NodeState : std::uint8_t { evictable, protected_, gap };

/// Why a request did not find more of its prompt.
enum class Miss : std::uint8_t {
  unknown,      ///< it has not inserted anything yet
  none,         ///< there was nothing more to find
  never_seen,   ///< nobody brought such a continuation before
  evicted,      ///< it was here and left
  other_space,  ///< it is here in another namespace
  gap,          ///< full attention had it, a window or a state had left
  rounding,     ///< less than a page was left
};

struct MirrorRequest {
  std::uint64_t id = 0;
  NamespaceId space{};
  std::uint32_t prompt = 0, matched = 0, computed = 0, committed = 0, known = 0;  ///< tokens
  RequestPhase phase = RequestPhase::running;
  std::uint64_t begun_at = 0, ended_at = 0;  ///< commits; 0: has not ended
  std::uint64_t begun_us = 0, ended_us = 0;
  std::uint32_t retractions = 0;
  Miss miss = Miss::unknown;
  Tick missed_since = 0;        ///< evicted: when it left
  Units missed_tokens = 0;      ///< evicted: how many tokens of it left, as far as is known
  NamespaceId missed_space{};   ///< other_space: where it is
  std::string missed_policy;    ///< evicted: who chose
  std::uint64_t last_node = 0;  ///< the deepest node it locked last; 0 none known
  std::vector<PageRun> pages;   ///< its own
  bool ended() const { return ended_at != 0; }
};

/// One pool, counted by the mirror itself; `told` are the totals that came with the last commit.
struct MirrorPool {
  std::string name, policy;
  Units reach = kWholePath;
  std::uint64_t pages = 0, limit = 0;  ///< page 0 not counted; kUnlimited
  std::uint32_t segment_pages = 0;
  struct Sums {
    std::uint64_t free = 0, evictable = 0, protected_ = 0, held = 0;  ///< pages
    friend bool operator==(const Sums&, const Sums&) = default;
  };
  Sums counted, told;
  /// By page: 0 free, the slot of a node, or ~id of a request.
  std::vector<std::int64_t> owner;
};

/// One moment, for charts that are scrubbed together.
struct Sample {
  std::uint64_t commit = 0, us = 0;
  Tick tick = 0;
  std::array<MirrorPool::Sums, kMaxGroups> pools{};
  std::uint64_t prompt_tokens = 0, hit_tokens = 0, evicted_tokens = 0, requests = 0;  ///< since the feed began
  std::uint32_t running = 0;
};

/// What one commit did, in a line.
struct LogLine {
  std::uint64_t commit = 0;
  Operation operation{};
  std::uint32_t added = 0, split = 0, removed = 0, gaps = 0;
  std::uint64_t request = 0, node = 0;  ///< that it was about; 0 none
  std::uint64_t tokens = 0;             ///< added or removed
};

/// Something that happened to a node.
struct NodeMoment {
  std::uint64_t node = 0, commit = 0;
  EventKind kind{};
};

/// Two moments apart: ids of nodes that came and that left.
struct Difference {
  std::vector<std::uint64_t> appeared, left;
  std::uint64_t appeared_tokens = 0, left_tokens = 0;
};

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

  bool in_step() const { return in_step_; }  ///< false before the first keyframe, and after a loss
  std::uint64_t commits() const { return commits_; }
  Tick tick() const { return tick_; }
  std::uint64_t us() const { return us_; }  ///< of the engine's clock
  /// Pages by which the mirror's sums and the engine's totals differ, over all pools; 0 or something is wrong.
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

  const std::vector<Sample>& samples() const { return samples_; }  ///< evenly thinned out, oldest first
  const std::deque<LogLine>& log() const { return log_; }          ///< the last some thousand
  std::vector<NodeMoment> history(std::uint64_t node) const;       ///< what is remembered of it, oldest first

  const std::string& config() const { return config_; }
  const std::vector<std::string>& plugins() const { return plugins_; }  ///< fields apart by tabs
  const std::vector<std::string>& refusals() const { return refusals_; }

  /// Ids and sizes of all nodes now, to compare with later.
  using Moment = std::unordered_map<std::uint64_t, Units>;
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
  void take_commit(std::span<const Event> events);
  void apply(const Event& event);
  void commit(const Event& event);
  void forget();
  std::uint32_t slot_of_id(std::uint64_t id) const;
  void add(const Event& event);
  void split(const Event& event);
  void remove(const Event& event);
  void lock(const Event& event);
  void unlock(const Event& event);
  void relax(const Event& event);
  void adopt_pages(const Event& event);
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
  void remember(std::uint64_t node, EventKind kind);
  MirrorRequest* find_request(std::uint64_t id);

  Units page_size_;
  bool has_words_;
  std::vector<MirrorPool> pools_;
  NodeBlocks nodes_;
  std::vector<Space> spaces_;
  std::vector<MirrorRequest> requests_;
  std::unordered_map<std::uint64_t, std::size_t> request_places_;
  std::vector<Event> pending_;  ///< since the last commit
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
  bool filled_ = false;             ///< this commit filled a gap
  std::uint64_t fresh_digest_ = 0;  ///< of the first page of what this commit added below a root; 0 nothing
  NamespaceId fresh_space_{};
  std::uint64_t locked_node_ = 0;  ///< the last lock of this commit
  std::string text_;               ///< pieces of the text being told
  std::string config_;
  std::vector<std::string> plugins_, refusals_;
};

}  // namespace canopy::inspector
