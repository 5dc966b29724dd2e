#pragma once

#include <bench/report.h>

namespace canopy::app {

/// The rows as a table, then what belongs to them in words. `old`, unless null, adds a column: the change since then.
void print(const bench::Report& report, const bench::Report* old);

}  // namespace canopy::app
