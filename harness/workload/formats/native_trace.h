#pragma once

#include "../trace_record.h"

#include <string>

namespace canopy::workload {

/// A request as a line of Canopy's own format, with its end. The reader gives back the same record. docs/traces.md has
/// the keys.
std::string native_line(const TraceRecord& record);

}  // namespace canopy::workload
