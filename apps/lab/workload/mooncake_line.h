#pragma once

#include "json_line.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace canopy::workload {

inline constexpr std::uint64_t kMooncakeBlock = 512;  ///< tokens per hash id in the published traces

/// One checked line of a Mooncake trace: every number is in its range, and `hash_ids` has exactly one id per block of
/// `input_length`. Another count means another block size, whose figures would be wrong.
class MooncakeLine {
 public:
  /// `block`: tokens per id. REQUIRES: block > 0.
  explicit MooncakeLine(std::uint64_t block = kMooncakeBlock);
  MooncakeLine(const MooncakeLine&) = delete;
  MooncakeLine& operator=(const MooncakeLine&) = delete;

  /// Reads a line, reusing the storage. Returns nothing if it can be used. Strict: at most eight levels deep, no nulls.
  /// Skips unknown keys, because newer traces have more of them.
  std::optional<LineProblem> read(std::string_view line);

  std::uint64_t timestamp = 0;  ///< ms
  std::uint32_t input_length = 0, output_length = 0;
  std::vector<std::uint64_t> hash_ids;
  std::uint64_t hints = 0;  ///< Bits of the optional key `hints`: a number, or a list of names (hints.h).

 private:
  std::uint64_t block_;
  std::array<JsonField, 5> fields_;
  JsonLine line_;
};

}  // namespace canopy::workload
