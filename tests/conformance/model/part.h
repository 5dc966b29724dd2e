#pragma once

#include <canopy/eviction_strategy.h>
#include <canopy/slot_allocator.h>

#include <array>
#include <memory>
#include <string>

namespace canopy::test {

/// One KV cache group of a world: its pool and its policy.
struct Part {
  std::string name;
  Units reach = kWholePath;
  std::uint32_t capacity = 0;  ///< pages
  std::shared_ptr<SlotAllocator> allocator;
  std::array<std::shared_ptr<EvictionStrategy>, 2> policies;  ///< both outlive the index
  std::size_t policy = 0;                                     ///< index of the policy in use
  std::uint64_t owned = 0;                                    ///< pages of requests that are in no index
};

}  // namespace canopy::test
