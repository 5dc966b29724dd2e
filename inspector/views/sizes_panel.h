#pragma once

#include <cstdint>
#include <vector>

#include "panel.h"

namespace canopy::inspector {

/// A column of the charts over time.
struct SizesColumn {
  MirrorPool::Sums pages;
  double hit_share = -1;  ///< of the prompts since the column before; < 0: there were none
  double evicted = 0;     ///< tokens since the column before
  std::uint64_t commit = 0, us = 0;
};
/// At most `most` columns, the last of them the last sample.
std::vector<SizesColumn> sizes_columns(const std::vector<Sample>& samples, std::size_t group, std::size_t most);

}  // namespace canopy::inspector
