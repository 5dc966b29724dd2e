#pragma once

#include <canopy/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace canopy::inspector {

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

}  // namespace canopy::inspector
