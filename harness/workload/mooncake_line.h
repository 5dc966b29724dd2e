#pragma once

#include "line_problem.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace canopy::workload {

inline constexpr std::uint64_t kMooncakeBlock = 512;  ///< tokens that one hash id stands for, in the published traces

/// One line of a Mooncake trace, checked: every number is in its range, and `hash_ids` has exactly one id for each
/// block of `input_length`, no more and no fewer: another count is that of another block size, whose figures would be
/// wrong.
struct MooncakeLine {
  std::uint64_t timestamp = 0;  ///< ms
  std::uint32_t input_length = 0, output_length = 0;
  std::vector<std::uint64_t> hash_ids;
  std::uint64_t hints = 0;  ///< of the optional key `hints`: a number, or a list of names (hints.h)
};

/// Reads one line whose ids stand for `block` tokens each, reusing the storage of `out`; nothing if it can be used.
/// Strict: JSON as in RFC 8259, at most eight levels deep, each known key once and a whole number in its range. Unknown
/// keys are skipped, since newer traces have more of them. REQUIRES: block > 0.
std::optional<LineProblem> read_mooncake_line(std::string_view line, std::uint64_t block, MooncakeLine& out);

}  // namespace canopy::workload
