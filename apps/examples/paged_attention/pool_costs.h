#pragma once

#include <canopy/base/registry.h>

#include <cstdint>
#include <string>
#include <vector>

namespace canopy::examples {

/// One step of attention with one way to find pages. Times are medians over turns in which all ways take part.
struct ReadCost {
  std::string way;
  std::uint32_t page_size = 0;  ///< tokens
  double seconds = 0;           ///< seconds for one request of kReadTokens tokens
  double to_pool = 0;           ///< ratio to the way "one pool", in the same turn
};

/// Cost for requests while a pool of `bytes` becomes twice as large.
struct GrowthCost {
  std::string way;
  std::uint64_t bytes = 0;
  double seconds = 0;
  std::uint64_t peak_bytes = 0;  ///< bytes of K/V memory needed meanwhile
};

inline constexpr std::uint32_t kReadTokens = 16'384;

/// Measures the cost of each way to make a pool elastic, for a kernel that reads it, on the CPU. All ways read the same
/// rows and must give the same sums; throws ExampleError if they do not.
std::vector<ReadCost> read_costs(std::uint32_t turns);
/// Measures the cost of growing, by copying and with reserved addresses (the store `host`).
std::vector<GrowthCost> growth_costs(const Registry& registry, std::uint64_t bytes, std::uint32_t turns);

}  // namespace canopy::examples
