#pragma once

#include <workload/request_source.h>

#include <memory>
#include <string>

namespace canopy::app {

/// Opens the requests of --trace FILE: a trace in any format of workload::open_trace, or a recording with tokens
/// (<sources/recorded_requests.h>). `block`: tokens per id of a trace; 0: as its format is published.
Result<std::unique_ptr<workload::RequestSource>> open_requests(const std::string& trace, std::uint64_t block);
/// Returns true if the file begins like a recording, so that open_requests reads it as one.
bool is_recording(const std::string& path);

}  // namespace canopy::app
