#pragma once

#include <workload/trace_stat.h>

#include <string>

namespace canopy::app {

struct Terminal;

/// Prints the figures of a trace: totals, histograms, tenants. `trace`: its name as given.
void print_facts(const workload::TraceFacts& facts, const std::string& trace, const Terminal& terminal);

}  // namespace canopy::app
