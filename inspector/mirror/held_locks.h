#pragma once

#include <cstdint>
#include <vector>

#include "mirror.h"

namespace canopy::inspector {

/// Locks whose paths end in one node, and their owner.
struct HeldLock {
  enum class Owner : std::uint8_t { request, fetch, pin, unexplained };
  Owner owner{};
  std::uint64_t request = 0;  ///< 0: none
  std::uint64_t node = 0;     ///< the deepest node that is locked
  NamespaceId space{};
  std::uint64_t tokens = 0;  ///< from the root to the node's end
  std::uint64_t locks = 1;
  std::uint64_t since_commit = 0, since_us = 0;  ///< 0: not known
};

/// Returns the locks of a group of whole paths, oldest first; those that no request, fetch or pin explains are first.
/// Empty for other groups, whose locks are reported without their owners. O(nodes + requests).
std::vector<HeldLock> held_locks(const Mirror& mirror, std::size_t group);

}  // namespace canopy::inspector
