#pragma once

#include "../trace_record.h"

#include <string>

namespace canopy::workload {

/// Returns a request as a line of Canopy's own format, with its line end. Reading it returns the same record.
/// docs/lab.md has the keys.
std::string native_line(const TraceRecord& record);

}  // namespace canopy::workload
