#pragma once

#include <bench/report.h>

namespace canopy::app {

/// Prints the rows as a table, and then their legend. `old` adds a column with the change since then; it may be null
/// (no such column).
void print(const bench::Report& report, const bench::Report* old);

}  // namespace canopy::app
