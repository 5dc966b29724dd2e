#pragma once

#include <canopy/feed/event.h>
#include <canopy/types.h>

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "mirror_node.h"
#include "mirror_pool.h"

namespace canopy::inspector {

/// One moment, for charts with a common time axis.
struct Sample {
  std::uint64_t commit = 0, us = 0;
  Tick tick = 0;
  std::array<MirrorPool::Sums, kMaxGroups> pools{};
  std::array<std::uint64_t, kMaxGroups> limits{};                                     ///< pages; may be kUnlimited
  std::uint64_t prompt_tokens = 0, hit_tokens = 0, evicted_tokens = 0, requests = 0;  ///< since the feed began
  std::uint32_t running = 0;
};

/// The effects of one commit, in a line.
struct LogLine {
  std::uint64_t commit = 0;
  Operation operation{};
  std::uint32_t added = 0, split = 0, removed = 0, tombstones = 0;
  std::uint64_t request = 0, node = 0;  ///< subject of the commit; 0: none
  std::uint64_t tokens = 0;             ///< tokens added or removed
  bool fetch = false;                   ///< true if the request is a fetch
  std::optional<NamespaceId> taker;     ///< namespace of the request for which it evicted
  /// Tokens that a copy brought to the tier below, and tokens that left it.
  std::uint64_t copied_below = 0, evicted_below = 0;
  bool is_transfer() const { return fetch || copied_below || evicted_below; }
};

/// An event of a node.
struct NodeMoment {
  std::uint64_t node = 0, commit = 0;
  std::uint8_t kind = 0;  ///< the kKind of an event::...
};

/// A node's state at a moment, in the first group.
struct NodeThen {
  Units length = 0;
  Page first_page = 0;  ///< 0: a tombstone
  bool held = false;
  friend bool operator==(const NodeThen&, const NodeThen&) = default;
};

/// The difference of two moments: ids of nodes that were added, evicted, or changed (cut, relocated, locked or
/// unlocked).
struct Difference {
  std::vector<std::uint64_t> added, evicted, changed;
  std::uint64_t added_tokens = 0, evicted_tokens = 0, changed_tokens = 0;
};

/// Eviction::policy of a flushed node.
inline constexpr const char* kFlushPolicy = "a flush";

/// The way in which tokens left the tree.
struct Eviction {
  std::uint64_t node = 0;  ///< id of the node that had them
  std::uint64_t commit = 0;
  Operation operation{};
  Tick tick = 0;
  std::uint64_t evicted_before = 0;  ///< tokens that were evicted before it (Mirror::evicted_tokens)
  bool unmatched = false;            ///< true if no request had found the node since it was added
  std::string policy;                ///< policy that chose it, or kFlushPolicy
};

/// Evicted pages of one node, kept so that the mirror recognises them when a request inserts them again.
struct Ghost : Eviction {
  Units begin = 0, length = 0;
  std::vector<std::uint32_t> digests;  ///< MirrorNode::page_digests
};

/// A part of a new node that had been evicted.
struct Returned : Eviction {
  Units begin = 0, length = 0;
};

/// The remembered past: samples, lines, moments of nodes, and evicted nodes. Each list is bounded.
class MirrorPast {
 public:
  void add(const Sample& sample);
  void add(const LogLine& line);
  void remember(const NodeMoment& moment);
  /// Remembers an evicted node. Returns false if there was no room: all earlier ghosts were then forgotten.
  bool bury(const MirrorNode& node, Eviction eviction);
  /// Finds the parts of a new node that had been evicted, and forgets that they were. `above`: path above the node;
  /// `page`: tokens of a page. What is left of a ghost stays one.
  void revive(const MirrorNode& node, std::uint64_t above, Units page, std::vector<Returned>& parts);

  bool wants_sample(std::uint64_t commit) const { return commit % sample_every_ == 0; }
  const std::vector<Sample>& samples() const { return samples_; }
  const std::deque<LogLine>& log() const { return log_; }
  std::vector<NodeMoment> history(std::uint64_t node) const;
  const std::deque<NodeMoment>& moments() const { return moments_; }
  /// Returns the ghost of an evicted node, or null if it is not remembered. O(ghosts).
  const Ghost* ghost(std::uint64_t node) const;
  std::size_t bytes() const;

 private:
  std::vector<Sample> samples_;
  std::uint64_t sample_every_ = 1;
  std::deque<LogLine> log_;
  std::deque<NodeMoment> moments_;
  /// By the path up to the end of its first page. No page is in two ghosts.
  std::unordered_map<std::uint64_t, Ghost> ghosts_;
  std::size_t digests_ = 0;  ///< sum over all ghosts
};

}  // namespace canopy::inspector
