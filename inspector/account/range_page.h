#pragma once

#include <mirror/mirror.h>

#include <string>

#include "range_figures.h"

namespace canopy::inspector {

/// Inputs of a page about a range.
struct RangePage {
  std::string title;  ///< name of the recording
  const History& history;
  const RangeFigures& range;  ///< figures of the range
  const RangeFigures& whole;  ///< figures of the whole time
  const Mirror& mirror;       ///< state at the end of the range
  const Doubts& doubts;       ///< doubts of the recording and of its figures
};

/// Returns a self-contained HTML page: charts over time, figures of the range beside those of the whole time, tenants,
/// prefixes and locks. It has no script and needs no network, follows the reader's light or dark mode, and prints.
/// Everything from outside is embedded as text.
std::string page_of(const RangePage& page);

}  // namespace canopy::inspector
