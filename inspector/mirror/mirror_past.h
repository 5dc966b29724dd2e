#pragma once

#include <canopy/feed/feed.h>
#include <canopy/types.h>

#include <array>
#include <cstdint>
#include <vector>

#include "mirror_pool.h"

namespace canopy::inspector {

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

/// A node as it was at a moment, in the first group.
struct NodeThen {
  Units length = 0;
  Page first_page = 0;  ///< 0: a gap
  bool held = false;
  friend bool operator==(const NodeThen&, const NodeThen&) = default;
};

/// Two moments apart: ids of nodes that came, that left, and that are not as they were: cut, with other pages, or held
/// and no longer or not yet.
struct Difference {
  std::vector<std::uint64_t> appeared, left, moved;
  std::uint64_t appeared_tokens = 0, left_tokens = 0, moved_tokens = 0;
};

}  // namespace canopy::inspector
