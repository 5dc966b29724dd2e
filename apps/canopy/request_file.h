#pragma once

#include <workload/request_source.h>

#include <memory>
#include <string>

namespace canopy::app {

/// The requests of --trace FILE: a trace of any format that workload::open_trace knows, or a recording that carries
/// tokens (<sources/recorded_requests.h>). `block`: tokens of a trace's block; 0: as its format is published.
Result<std::unique_ptr<workload::RequestSource>> open_requests(const std::string& trace, std::uint64_t block);
/// Whether it begins as recordings do, so that open_requests reads it as one.
bool is_recording(const std::string& path);

}  // namespace canopy::app
