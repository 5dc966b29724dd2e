#pragma once

#include <string>

#include "history.h"

namespace canopy::inspector {

/// Returns a range as a trace in Chrome's JSON format, for ui.perfetto.dev and chrome://tracing. A tenant is a process,
/// and its requests are slices with their phases; hit rate, pages, evictions and running requests are counters; marks
/// are instants. Times are microseconds of the engine's clock; if it did not advance, a commit is a microsecond. An
/// empty range is the whole past. `doubts` of the figures are instants at its beginning.
std::string chrome_trace(const History& history, CommitRange range, const Doubts& doubts);

}  // namespace canopy::inspector
