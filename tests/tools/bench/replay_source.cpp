#include "replay_source.h"

#include <bench/mixed_workload.h>
#include <workload/generator.h>
#include <workload/trace_formats.h>

namespace canopy::bench {

Result<ReplaySource> open_source(const Options& options) {
  if (!options.trace.empty()) {
    auto trace = workload::open_trace(options.trace, options.block);
    if (!trace) return trace.error();
    const std::string name = workload::trace_name(options.trace);
    if (options.quick) return ReplaySource{std::move(*trace), name, 1500, 5'000'000};
    return ReplaySource{std::move(*trace), name, kUnlimited, 20'000'000};
  }
  const auto description = parse_yaml(kMixedWorkload, "mixed.yaml");
  if (!description) return description.error();
  auto generated = workload::make_generator(*description);
  if (!generated) return generated.error();
  if (options.quick) return ReplaySource{std::move(*generated), "mixed.yaml", 1500, 500'000};
  return ReplaySource{std::move(*generated), "mixed.yaml", kUnlimited, 1'000'000};
}

}  // namespace canopy::bench
