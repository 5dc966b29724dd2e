#include <replay/json_file.h>
#include <nlohmann/json.hpp>

#include "fleet.h"

namespace canopy::fleet {

using nlohmann::ordered_json;

Result<std::monostate> write_comparison(const Comparison& comparison, const std::string& path) {
  ordered_json json{{"source", comparison.source},
                    {"config", comparison.config.empty() ? ordered_json(nullptr) : ordered_json(comparison.config)},
                    {"streams", comparison.streams},
                    {"command", comparison.command},
                    {"seed", comparison.seed},
                    {"block_tokens", comparison.block_tokens},
                    {"prefill_tokens_a_second", comparison.speed.prefill_tokens_a_second},
                    {"step_ms", comparison.speed.step_ms},
                    {"formulas", ordered_json::array()}};
  for (const Report& report : comparison.reports) {
    ordered_json one{{"formula", scheduling::kRouteNames[static_cast<std::size_t>(report.route)]},
                     {"requests", report.requests},
                     {"rejected", report.rejected},
                     {"prompt_tokens", report.prompt_tokens},
                     {"hit_tokens", report.hit_tokens},
                     {"hit_rate", report.hit_rate()},
                     {"imbalance", report.imbalance()},
                     {"mean_wait_ms", report.mean_wait_ms},
                     {"p95_wait_ms", report.p95_wait_ms},
                     {"violations", report.violations},
                     {"workers", ordered_json::array()}};
    for (const WorkerReport& worker : report.workers)
      one["workers"].push_back(
          {{"requests", worker.requests}, {"prompt_tokens", worker.prompt_tokens}, {"hit_tokens", worker.hit_tokens}});
    json["formulas"].push_back(std::move(one));
  }
  return replay::write_json(path, json);
}

}  // namespace canopy::fleet
