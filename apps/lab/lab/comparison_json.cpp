#include "comparison_json.h"

#include <workload/json_file.h>

namespace canopy::lab {

using nlohmann::ordered_json;

CANOPY_TO_JSON(RegretBin, name, tokens)
CANOPY_TO_JSON(Regret, tokens, by_age, by_depth, by_turn)
CANOPY_TO_JSON(Fairness, jain, worst, worst_hit_rate)
CANOPY_TO_JSON(Waiting::Kind, name, nodes, tokens, first)
CANOPY_TO_JSON(Waiting, rule, kinds)

static void to_json(ordered_json& json, const Slice& slice) {
  CANOPY_PUT(json, slice, name, requests, prompt_tokens, hit_tokens);
  json["hit_rate"] = slice.hit_rate();
  CANOPY_PUT(json, slice, seen_tokens);
  json["regret_tokens"] = slice.regret_tokens();
}

static void to_json(ordered_json& json, const Row& row) {
  CANOPY_PUT(json, row, policy, capacity_tokens, page_size, hit_tokens, hit_rate, optimum_share, evicted_tokens,
             index_seconds, seed);
  json["digest"] = hex_of(row.digest);
  CANOPY_PUT(json, row, flop_hit_rate, rejected);
  ordered_json& slices = json["slices"] = ordered_json::object();  // by kind
  for (const Slice& slice : row.slices) slices[slice.kind].push_back(slice);
  CANOPY_PUT(json, row, fairness, regret, waiting);
}

ordered_json json_of(const Comparison& comparison) {
  ordered_json json;
  CANOPY_PUT(json, comparison, config, source, command, page_size, blocks, requests, warm_up, prompt_tokens,
             infinite_tokens, distinct_tokens, largest_request);
  json["trace_seconds"] = static_cast<double>(comparison.trace_ms) / 1000;
  CANOPY_PUT(json, comparison, flop_depth, bytes_per_token);
  json["capacities"] = ordered_json::array();
  for (std::size_t i = 0; i < comparison.capacity_names.size(); ++i)
    json["capacities"].push_back({{"name", comparison.capacity_names[i]}, {"tokens", comparison.capacities[i]}});
  CANOPY_PUT(json, comparison, policies, rows);
  json["ledger_checks"] = comparison.checks;
  CANOPY_PUT(json, comparison, violations, seconds, jobs);
  if (!comparison.reports.empty()) json["violation_reports"] = comparison.reports;
  if (!comparison.notes.empty()) json["notes"] = comparison.notes;
  return json;
}

Result<std::monostate> write_comparison(const Comparison& comparison, const std::string& path) {
  return write_json(path, json_of(comparison));
}

}  // namespace canopy::lab
