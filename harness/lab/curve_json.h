#pragma once

#include <canopy/support/result.h>

#include <cstdint>
#include <string>
#include <vector>

#include "curve.h"

namespace canopy::lab {

/// What `canopy replay` reuses, which evicts whole nodes, beside a curve's point.
struct NodeReplay {
  std::uint64_t capacity_tokens = 0, hit_tokens = 0;
};

/// All that `canopy curve` has found out.
struct Curves {
  std::string source, command;
  bool blocks = false;
  double sample = 1;  ///< share of the pages that were looked at
  std::uint64_t warm_up = 0;
  std::uint64_t pool_tokens = 0;    ///< the reader's own; 0: none was named
  std::vector<Curve> curves;        ///< one for each page size
  std::vector<NodeReplay> replays;  ///< at the first page size
};

/// Writes curves as JSON (docs/lab.md has the fields), all of it or nothing. `page_size` and `points` are those of the
/// first curve.
Result<std::monostate> write_curves(const Curves& curves, const std::string& path);

}  // namespace canopy::lab
