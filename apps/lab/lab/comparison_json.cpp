#include "comparison_json.h"

#include <canopy/base/yaml_document.h>
#include <workload/json_file.h>

#include "build.h"

namespace canopy::lab {

using nlohmann::ordered_json;

CANOPY_TO_JSON(RegretBin, name, tokens)
CANOPY_TO_JSON(Regret, tokens, by_age, by_depth, by_turn)
CANOPY_TO_JSON(Fairness, jain, mean_hit_rate, worst, worst_hit_rate)
CANOPY_TO_JSON(Waiting::Kind, name, nodes, tokens, first)
CANOPY_TO_JSON(Waiting, rule, kinds)

CANOPY_TO_JSON(Interval, mean, low, high)
CANOPY_TO_JSON(ExactPoint, capacity_tokens, hit_rate)

static void to_json(ordered_json& json, const SeedRun& run) {
  CANOPY_PUT(json, run, seed, hit_tokens, hit_rate);
  json["digest"] = hex_of(run.digest);
}

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
  CANOPY_PUT(json, row, flop_hit_rate, rejected, spread, gain, prefill_seconds, p50_ttft_ms, p95_ttft_ms, answered);
  if (!row.by_seed.empty()) json["by_seed"] = row.by_seed;
  ordered_json& slices = json["slices"] = ordered_json::object();  // by kind
  for (const Slice& slice : row.slices) {
    slices[slice.kind].push_back(slice);
    if (!row.regret) slices[slice.kind].back()["regret_tokens"] = nullptr;
  }
  CANOPY_PUT(json, row, fairness, regret, waiting);
}

/// Returns a value of a configuration as JSON. Text that is a number or a flag becomes one, unless it is quoted.
static ordered_json value_of(const YamlNode& node) {
  ordered_json json;
  if (node.kind == YamlNode::Kind::map)
    for (const auto& [key, value] : node.entries) json[key.scalar] = value_of(value);
  else if (node.kind == YamlNode::Kind::sequence)
    for (const YamlNode& item : node.items) json.push_back(value_of(item));
  else if (node.kind == YamlNode::Kind::scalar) {
    json = ordered_json::parse(node.scalar, nullptr, false);
    if (node.quoted || json.is_discarded() || json.is_structured()) json = node.scalar;
  }
  return json;
}

/// Returns {"name": ..., "options": {...}} of a policy; null if no engine runs for it.
static ordered_json options_of(const std::string& policy) {
  const auto node = parse_yaml(policy, "the policy");
  if (policy.empty() || !node) return nullptr;
  const bool plain = node->kind != YamlNode::Kind::map || node->entries.empty();
  ordered_json json{{"name", plain ? node->scalar : node->entries.front().first.scalar},
                    {"options", plain ? ordered_json() : value_of(node->entries.front().second)}};
  if (json["options"].is_null()) json["options"] = ordered_json::object();
  return json;
}

ordered_json json_of(const Comparison& comparison) {
  ordered_json json{{"canopy", {{"version", version()}, {"commit", commit()}}}};
  json["trace_hash"] = hex_of(comparison.trace_hash);
  CANOPY_PUT(json, comparison, config, source, command, page_size, blocks, requests, warm_up, prompt_tokens,
             infinite_tokens, distinct_tokens, largest_request);
  json["trace_seconds"] = static_cast<double>(comparison.trace_ms) / 1000;
  json["counted_seconds"] = static_cast<double>(comparison.counted_ms) / 1000;
  CANOPY_PUT(json, comparison, flop_depth, bytes_per_token);
  json["capacities"] = ordered_json::array();
  for (std::size_t i = 0; i < comparison.capacity_names.size(); ++i)
    json["capacities"].push_back({{"name", comparison.capacity_names[i]}, {"tokens", comparison.capacities[i]}});
  CANOPY_PUT(json, comparison, policies);
  for (std::size_t i = 0; i < comparison.policies.size(); ++i)
    json["policy_options"][comparison.policies[i]] = options_of(comparison.policy_options[i]);
  CANOPY_PUT(json, comparison, seeds, timed, intervals, lru_curve, rows);
  json["ledger_checks"] = comparison.checks;
  CANOPY_PUT(json, comparison, violations, seconds, jobs);
  if (!comparison.reports.empty()) json["violation_reports"] = comparison.reports;
  if (!comparison.doubts.empty()) json["doubts"] = comparison.doubts;
  if (!comparison.notes.empty()) json["notes"] = comparison.notes;
  return json;
}

Result<std::monostate> write_comparison(const Comparison& comparison, const std::string& path) {
  return write_json(path, json_of(comparison));
}

}  // namespace canopy::lab
