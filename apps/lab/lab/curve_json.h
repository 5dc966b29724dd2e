#pragma once

#include <canopy/base/result.h>

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "curve.h"

namespace canopy::lab {

/// The tokens that `canopy replay`, which evicts whole nodes, reuses at a point of a curve.
struct NodeReplay {
  std::uint64_t capacity_tokens = 0, hit_tokens = 0;
  std::uint64_t violations = 0;        ///< if any, hit_tokens is not what a cache of this size reuses
  std::vector<std::string> reports{};  ///< violations in words
};

/// The results of `canopy compare --curve`.
struct Curves {
  std::string source, command;
  bool blocks = false;
  double sample = 1;  ///< share of sampled pages
  std::uint64_t warm_up = 0;
  std::uint64_t pool_tokens = 0;    ///< the user's own pool; 0: not given
  std::vector<Curve> curves;        ///< one for each page size
  std::vector<NodeReplay> replays;  ///< at the first page size
};

nlohmann::ordered_json json_of(const Curve& curve);

/// Writes curves as JSON (docs/lab.md has the fields), completely or not at all. `page_size` and `points` are those of
/// the first curve.
Result<std::monostate> write_curves(const Curves& curves, const std::string& path);

}  // namespace canopy::lab
