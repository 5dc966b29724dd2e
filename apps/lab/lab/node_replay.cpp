#include "node_replay.h"

#include <canopy/engine/engine.h>

#include <utility>

namespace canopy::lab {

Result<NodeReplay> replay_nodes(workload::RequestSource& source, const InputSum& read, const NodeReplayOptions& options,
                                const Registry& registry, const replay::Progress& progress) {
  EngineConfig config;
  config.page_size = options.page_size;
  config.groups = {{.name = "full", .capacity = options.capacity, .allocator = {"free_list"}, .eviction = {"lru"}}};
  auto engine = Engine::create(config, registry);
  if (!engine) return engine.error();
  std::uint64_t hits = 0;
  InputSum sum;
  replay::Options run;
  run.stopped = options.stopped;
  run.failed_report = true;
  run.each = [&](const workload::ClientRequest& request, std::uint32_t matched) {
    hits += sum.requests() >= options.warm_up ? matched : 0;
    sum.add(request);
  };
  auto report = replay::run(**engine, source, run, progress);
  if (!report) return report.error();
  if (!report->incomplete) add_doubts(report->doubts, doubts_between(read, sum, "this replay"));
  return NodeReplay{options.capacity, hits, report->violations, std::move(report->reports), std::move(report->doubts)};
}

}  // namespace canopy::lab
