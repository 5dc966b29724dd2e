#pragma once

#include <canopy/base/registry.h>
#include <replay/replay.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "input_sum.h"

namespace canopy::lab {

/// The tokens that `canopy replay`, which evicts whole nodes, reuses at a point of a curve.
struct NodeReplay {
  std::uint64_t capacity_tokens = 0, hit_tokens = 0;
  std::uint64_t violations = 0;        ///< if any, hit_tokens is not what a cache of this size reuses
  std::vector<std::string> reports{};  ///< violations in words
  Doubts doubts{};                     ///< if any, the same

  bool is_sound() const { return violations == 0 && doubts.empty(); }
};

struct NodeReplayOptions {
  Units page_size = 1;
  std::uint64_t capacity = 0;  ///< tokens
  std::uint64_t warm_up = 0;   ///< requests that run and are not counted
  std::function<bool()> stopped{};
};

/// Replays a source on an engine under LRU. `read`: the sum of the reading from which the curve was made; there is a
/// doubt if this one differs.
Result<NodeReplay> replay_nodes(workload::RequestSource& source, const InputSum& read, const NodeReplayOptions& options,
                                const Registry& registry, const replay::Progress& progress);

}  // namespace canopy::lab
