#pragma once

#include <canopy/feed/event.h>
#include <canopy/types.h>

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include "mirror_node.h"
#include "mirror_pool.h"

namespace canopy::inspector {

/// One moment, for charts that are scrubbed together.
struct Sample {
  std::uint64_t commit = 0, us = 0;
  Tick tick = 0;
  std::array<MirrorPool::Sums, kMaxGroups> pools{};
  std::array<std::uint64_t, kMaxGroups> limits{};                                     ///< pages; kUnlimited
  std::uint64_t prompt_tokens = 0, hit_tokens = 0, evicted_tokens = 0, requests = 0;  ///< since the feed began
  std::uint32_t running = 0;
};

/// What one commit did, in a line.
struct LogLine {
  std::uint64_t commit = 0;
  Operation operation{};
  std::uint32_t added = 0, split = 0, removed = 0, tombstones = 0;
  std::uint64_t request = 0, node = 0;  ///< that it was about; 0 none
  std::uint64_t tokens = 0;             ///< added or removed
  bool fetch = false;                   ///< the request is a fetch
  /// Of the tier below: tokens that a copy brought there, and that left it.
  std::uint64_t copied_below = 0, evicted_below = 0;
  bool is_transfer() const { return fetch || copied_below || evicted_below; }
};

/// Something that happened to a node.
struct NodeMoment {
  std::uint64_t node = 0, commit = 0;
  std::uint8_t kind = 0;  ///< the kKind of an event::...
};

/// A node as it was at a moment, in the first group.
struct NodeThen {
  Units length = 0;
  Page first_page = 0;  ///< 0: a tombstone
  bool held = false;
  friend bool operator==(const NodeThen&, const NodeThen&) = default;
};

/// What differs between two moments: the ids of nodes that were added, evicted, or changed (cut, relocated, locked or
/// unlocked).
struct Difference {
  std::vector<std::uint64_t> added, evicted, changed;
  std::uint64_t added_tokens = 0, evicted_tokens = 0, changed_tokens = 0;
};

/// A node that was evicted, kept so that the mirror recognises it when a request inserts it again.
struct Ghost {
  std::uint64_t id = 0, lineage = 0;  ///< id 0: none
  Units begin = 0, length = 0;
  Tick evicted_at = 0;
  std::string policy;  ///< that chose it, or "a flush"
};

/// What a mirror remembers: samples, lines, moments of nodes, and nodes that were evicted. Each list is bounded.
class MirrorPast {
 public:
  void add(const Sample& sample);
  void add(const LogLine& line);
  void remember(const NodeMoment& moment);
  /// `above`: MirrorState::above. False if there was no more room: all that was evicted before is forgotten.
  bool bury(const MirrorNode& node, std::uint64_t above, Tick now, const std::string& policy);
  /// The ghost of a node that came again, which is no ghost any more. What hung below the ghost hangs below the node,
  /// which takes over its lineage.
  Ghost revive(const MirrorNode& node, std::uint64_t above);

  bool wants_sample(std::uint64_t commit) const { return commit % sample_every_ == 0; }
  const std::vector<Sample>& samples() const { return samples_; }
  const std::deque<LogLine>& log() const { return log_; }
  std::vector<NodeMoment> history(std::uint64_t node) const;
  const std::deque<NodeMoment>& moments() const { return moments_; }
  /// Of a node that was evicted, by its id; null: not remembered. O(ghosts).
  const Ghost* ghost(std::uint64_t node) const;
  std::size_t bytes() const;

 private:
  std::vector<Sample> samples_;
  std::uint64_t sample_every_ = 1;
  std::deque<LogLine> log_;
  std::deque<NodeMoment> moments_;
  /// What a ghost is recognised by: where it hung, and the digest of its first page.
  struct Place {
    std::uint64_t above = 0, digest = 0;
    Units begin = 0;
    friend bool operator==(const Place&, const Place&) = default;
  };
  struct Hash {
    std::size_t operator()(const Place& place) const {
      return (place.above * 0x9E3779B97F4A7C15U ^ place.digest) + place.begin;
    }
  };
  std::unordered_map<Place, Ghost, Hash> ghosts_;
};

}  // namespace canopy::inspector
