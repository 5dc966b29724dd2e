/// One tenant for each thread, each with its own index and the whole source: only the machine is shared.
#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "clock.h"
#include "index_replay.h"

namespace canopy::bench {
namespace {

std::string shards_row(std::size_t shards) {
  return fmt::format("replay: {} shard{}, a thread each, page 16", shards, shards == 1 ? "" : "s");
}

/// Measures the time of a request: that of the slowest tenant's index calls divided by the requests of all.
Result<std::monostate> measure_shards(const Setting& setting, std::size_t shards, Report& report) {
  Repeated all;
  std::uint64_t requests = 0;
  for (std::size_t repetition = 0; repetition < setting.repetitions; ++repetition) {
    std::vector<Result<Replayed>> tenants(shards, Error{});
    std::vector<std::thread> threads;
    for (Result<Replayed>& tenant : tenants)
      threads.emplace_back([&] { tenant = replay_index(setting, setting.options.index, 16); });
    for (std::thread& thread : threads) thread.join();
    double slowest = 0;
    requests = 0;
    for (const Result<Replayed>& tenant : tenants) {
      if (!tenant) return tenant.error();
      slowest = std::max(slowest, tenant->four());
      requests += tenant->requests;
    }
    all.add(slowest / static_cast<double>(requests));
  }
  report.rows.push_back({"Shards: one index and one thread for each namespace", shards_row(shards), Kind::time,
                         "a request", all.spread(), std::nullopt, std::nullopt,
                         fmt::format("{:.0f} requests/s of index time", 1 / all.spread().median)});
  return std::monostate{};
}

}  // namespace

void add_shard_cases(const Options&, std::vector<Case>& cases) {
  for (const std::size_t shards : {1U, 2U})
    cases.push_back({{shards_row(shards)}, [shards](const Setting& setting, Report& report) {
                       return measure_shards(setting, shards, report);
                     }});
}

}  // namespace canopy::bench
