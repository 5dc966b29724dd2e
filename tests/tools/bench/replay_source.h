#pragma once

#include <memory>

#include <workload/request_source.h>
#include "bench.h"

namespace canopy::bench {

/// The requests of the replays: the trace of the options, or a generated workload.
struct ReplaySource {
  std::unique_ptr<workload::RequestSource> requests;
  std::string name;        ///< "conversation_trace.jsonl"
  std::uint64_t limit;     ///< number of requests
  std::uint64_t capacity;  ///< tokens of the pool, small enough that the replay evicts
};
/// Opens the source at its beginning.
Result<ReplaySource> open_source(const Options& options);

}  // namespace canopy::bench
