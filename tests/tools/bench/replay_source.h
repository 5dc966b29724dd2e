#pragma once

#include <memory>

#include <workload/request_source.h>
#include "bench.h"

namespace canopy::bench {

/// What the replays run: the trace of the options, or a generated workload.
struct ReplaySource {
  std::unique_ptr<workload::RequestSource> requests;
  std::string name;        ///< "conversation_trace.jsonl"
  std::uint64_t limit;     ///< requests
  std::uint64_t capacity;  ///< tokens of the pool, small enough that the replay evicts
};
/// From its beginning.
Result<ReplaySource> open_source(const Options& options);

}  // namespace canopy::bench
