#pragma once

#include <canopy/support/result.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace canopy::inspector {

/// What `canopy compare --json` writes (docs/lab.md), as far as the inspector shows it.
struct ComparedRow {
  std::string policy;
  std::optional<std::uint64_t> capacity;  ///< tokens; none: without a limit
  std::uint64_t page_size = 1, hit_tokens = 0;
  double hit_rate = 0;                  ///< 0..1
  std::optional<double> optimum_share;  ///< 0..1 of the optimum's hits; none: not known
};

struct ComparisonFile {
  std::string source;  ///< name of the trace
  std::uint64_t requests = 0, prompt_tokens = 0;
  std::vector<ComparedRow> rows;
};

/// Reads the text of such a file. The error says what was found at which key and what belongs there. At most 10,000
/// rows; a rate or a share outside 0..1 is refused.
Result<ComparisonFile> read_comparison(std::string_view text);

}  // namespace canopy::inspector
