#pragma once

#include <workload/trace_stat.h>

#include <string>

namespace canopy::app {

struct Terminal;

/// Prints what a trace is: figures, histograms, tenants. `trace`: how it was named.
void print_facts(const workload::TraceFacts& facts, const std::string& trace, const Terminal& terminal);

}  // namespace canopy::app
