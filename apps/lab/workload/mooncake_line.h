#pragma once

#include "json_line.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace canopy::workload {

inline constexpr std::uint64_t kMooncakeBlock = 512;  ///< tokens per hash id in the published traces

/// One checked line of a Mooncake trace: every number is in its range, and `hash_ids` has exactly one id per block of
/// `input_length`. Another count means another block size, whose figures would be wrong. Other tools write this format
/// with fractions of a millisecond, with the names `created_time`, `input_tokens` and `output_tokens`, with ids that
/// are hashes (JsonField::Kind::ids), and with sessions, in which a turn has no time but the `delay` after the one
/// before.
class MooncakeLine {
 public:
  /// `block`: tokens per id. REQUIRES: block > 0.
  explicit MooncakeLine(std::uint64_t block = kMooncakeBlock);
  MooncakeLine(const MooncakeLine&) = delete;
  MooncakeLine& operator=(const MooncakeLine&) = delete;

  /// Reads a line, reusing the storage. Returns nothing if it can be used. Strict: at most eight levels deep.
  /// `input_length`, `hash_ids` and `hints` are never null. Skips unknown keys, because newer traces have more of them.
  std::optional<LineProblem> read(std::string_view line);

  std::uint64_t timestamp = 0;                                 ///< ms, rounded
  std::string session;                                         ///< name of its session; empty: none
  std::uint64_t delay = 0;                                     ///< ms after the turn before
  bool has_time = false, has_ids = false, has_output = false;  ///< false: the line does not have it; then it is 0
  std::uint32_t input_length = 0, output_length = 0;
  std::vector<std::uint64_t> hash_ids;
  std::uint64_t hints = 0;  ///< Bits of the optional key `hints`: a number, or a list of names (hints.h).

 private:
  std::uint64_t block_;
  std::array<JsonField, 7> fields_;
  JsonLine line_;
};

}  // namespace canopy::workload
