#pragma once

#include "trace_record.h"

#include <memory>

namespace canopy::workload {

/// Returns a reader of the same requests in the order of their times; those of one time keep their order. Reads all of
/// `trace` before the first request and keeps it in memory: for formats whose files list one conversation after
/// another.
std::unique_ptr<TraceReader> by_time(std::unique_ptr<TraceReader> trace);

}  // namespace canopy::workload
