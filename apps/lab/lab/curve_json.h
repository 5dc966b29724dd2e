#pragma once

#include <canopy/base/doubts.h>
#include <canopy/base/result.h>

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "curve.h"
#include "node_replay.h"

namespace canopy::lab {

/// The results of `canopy compare --curve`.
struct Curves {
  std::string source, command;
  bool blocks = false;
  double sample = 1;  ///< share of sampled pages
  std::uint64_t warm_up = 0;
  std::uint64_t pool_tokens = 0;    ///< the user's own pool; 0: not given
  std::vector<Curve> curves;        ///< one for each page size
  std::vector<NodeReplay> replays;  ///< at the first page size
  std::uint64_t trace_hash = 0;     ///< InputSum of the requests
  Doubts doubts;                    ///< doubts of the input of the curves
  std::vector<std::string> notes;   ///< advice for a reader of the figures, which are right
};

nlohmann::ordered_json json_of(const Curve& curve);

/// Writes curves as JSON (docs/lab.md has the fields), completely or not at all. `page_size` and `points` are those of
/// the first curve.
Result<std::monostate> write_curves(const Curves& curves, const std::string& path);

}  // namespace canopy::lab
