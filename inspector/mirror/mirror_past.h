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

/// Ghost::policy of a flushed node.
inline constexpr const char* kFlushPolicy = "a flush";

/// An evicted node, kept so that the mirror recognises it when a request inserts it again.
struct Ghost {
  std::uint64_t id = 0, lineage = 0;  ///< id 0: no ghost
  Units begin = 0, length = 0;
  Tick evicted_at = 0;
  std::uint64_t evicted_before = 0;  ///< tokens that were evicted before it (Mirror::evicted_tokens)
  std::string policy;                ///< policy that chose it, or kFlushPolicy
};

/// The remembered past: samples, lines, moments of nodes, and evicted nodes. Each list is bounded.
class MirrorPast {
 public:
  void add(const Sample& sample);
  void add(const LogLine& line);
  void remember(const NodeMoment& moment);
  /// Remembers an evicted node. `above`: MirrorState::above; `before`: Ghost::evicted_before. Returns false if there
  /// was no room: all earlier ghosts were then forgotten.
  bool bury(const MirrorNode& node, std::uint64_t above, Tick now, std::uint64_t before, const std::string& policy);
  /// Removes and returns the ghost of a node that came back; id 0 if there is none. When the node takes over the
  /// ghost's lineage, ghosts below the ghost are below the node.
  Ghost revive(const MirrorNode& node, std::uint64_t above);

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
  /// A ghost is recognised by its parent and the digest of its first page.
  struct Place {
    std::uint64_t above = 0, digest = 0;
    Units begin = 0;
    friend bool operator==(const Place&, const Place&) = default;
  };
  struct Hash {
    std::size_t operator()(const Place& place) const {
      return static_cast<std::size_t>((place.above * 0x9E3779B97F4A7C15U ^ place.digest) + place.begin);
    }
  };
  std::unordered_map<Place, Ghost, Hash> ghosts_;
};

}  // namespace canopy::inspector
