#pragma once

#include "request_source.h"
#include "trace_record.h"

#include <memory>

namespace canopy::workload {

/// Returns the requests of a trace with their tokens. Token j of id h is token_at(h * block + j), so a trace of ids has
/// the same tokens on every machine.
std::unique_ptr<RequestSource> make_trace_source(std::unique_ptr<TraceReader> reader);

}  // namespace canopy::workload
