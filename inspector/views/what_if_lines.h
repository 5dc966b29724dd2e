#pragma once

#include <sources/comparison_file.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace canopy::inspector {

/// The rows of a what-if as lines over the limit: a line is a policy at one page size, or a page size of one policy.
struct WhatIfLine {
  struct Point {
    std::uint64_t capacity;  ///< tokens
    double hit_rate;
  };
  std::string name;
  std::vector<Point> points{};  ///< by capacity
  double unlimited = -1;        ///< hit rate without a limit; below 0: not known
  bool ceiling = false;         ///< the optimum: no policy gets above it
  std::size_t colour = 0;       ///< number of its hue, the same for a policy at every page size
};

struct WhatIfLines {
  std::vector<WhatIfLine> lines;
  std::vector<std::uint64_t> capacities;  ///< of all lines, sorted
};

/// Policies and page sizes that the rows have, each once, in the order of the rows.
std::vector<std::string> policies_of(std::span<const ComparedRow> rows);
std::vector<std::uint64_t> page_sizes_of(std::span<const ComparedRow> rows);

WhatIfLines lines_by_policy(std::span<const ComparedRow> rows, std::uint64_t page_size);
WhatIfLines lines_by_page_size(std::span<const ComparedRow> rows, const std::string& policy);

/// What the figures say at the limit that is nearest to `limit`: which line reuses most there, how far that is from the
/// line called `own` (from the second best if `own` is the best or not there) and from the ceiling. Empty if there is
/// nothing to say.
std::string reading_of(const WhatIfLines& all, std::uint64_t limit, const std::string& own);

}  // namespace canopy::inspector
