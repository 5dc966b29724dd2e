#include "comparison_json.h"

#include <fmt/format.h>

#include <replay/json_file.h>
#include <nlohmann/json.hpp>

namespace canopy::lab {
namespace {

using nlohmann::ordered_json;

template <class T>
ordered_json or_null(const std::optional<T>& value) {
  return value ? ordered_json(*value) : ordered_json(nullptr);
}

/// Slices by kind: {"turn": [{"name": "turn 1", ...}, ...], ...}
ordered_json json_of(const std::vector<Slice>& slices) {
  ordered_json json = ordered_json::object();
  for (const Slice& slice : slices)
    json[slice.kind].push_back({{"name", slice.name},
                                {"requests", slice.requests},
                                {"prompt_tokens", slice.prompt_tokens},
                                {"hit_tokens", slice.hit_tokens},
                                {"hit_rate", slice.hit_rate()},
                                {"seen_tokens", slice.seen_tokens}});
  return json;
}

ordered_json json_of(const std::vector<RegretBin>& bins) {
  ordered_json json = ordered_json::array();
  for (const RegretBin& bin : bins) json.push_back({{"name", bin.name}, {"tokens", bin.tokens}});
  return json;
}

ordered_json json_of(const Waiting& waiting) {
  ordered_json kinds = ordered_json::array();
  for (const Waiting::Kind& kind : waiting.kinds)
    kinds.push_back({{"name", kind.name}, {"nodes", kind.nodes}, {"tokens", kind.tokens}, {"first", kind.first}});
  return {{"rule", waiting.rule}, {"kinds", kinds}};
}

ordered_json json_of(const Row& row) {
  return {{"policy", row.policy},
          {"capacity_tokens", or_null(row.capacity_tokens)},
          {"page_size", row.page_size},
          {"hit_tokens", row.hit_tokens},
          {"hit_rate", row.hit_rate},
          {"optimum_share", or_null(row.optimum_share)},
          {"evicted_tokens", or_null(row.evicted_tokens)},
          {"index_seconds", or_null(row.index_seconds)},
          {"seed", row.seed},
          {"digest", fmt::format("{:016x}", row.digest)},
          {"flop_hit_rate", row.flop_hit_rate},
          {"rejected", row.rejected},
          {"slices", json_of(row.slices)},
          {"regret",
           {{"tokens", row.regret.tokens},
            {"by_age", json_of(row.regret.by_age)},
            {"by_depth", json_of(row.regret.by_depth)},
            {"by_turn", json_of(row.regret.by_turn)}}},
          {"waiting", json_of(row.waiting)}};
}

ordered_json json_of(const Comparison& comparison) {
  ordered_json json{{"config", comparison.config},
                    {"source", comparison.source},
                    {"command", comparison.command},
                    {"page_size", comparison.page_size},
                    {"blocks", comparison.blocks},
                    {"requests", comparison.requests},
                    {"warm_up", comparison.warm_up},
                    {"prompt_tokens", comparison.prompt_tokens},
                    {"infinite_tokens", comparison.infinite_tokens},
                    {"distinct_tokens", comparison.distinct_tokens},
                    {"largest_request", comparison.largest_request},
                    {"trace_seconds", static_cast<double>(comparison.trace_ms) / 1000},
                    {"flop_depth", comparison.flop_depth},
                    {"bytes_per_token", or_null(comparison.bytes_per_token)},
                    {"capacities", ordered_json::array()},
                    {"policies", comparison.policies},
                    {"rows", ordered_json::array()},
                    {"ledger_checks", comparison.checks},
                    {"violations", comparison.violations},
                    {"seconds", comparison.seconds},
                    {"jobs", comparison.jobs}};
  for (std::size_t i = 0; i < comparison.capacities.size(); ++i)
    json["capacities"].push_back({{"name", comparison.capacity_names[i]}, {"tokens", comparison.capacities[i]}});
  for (const Row& row : comparison.rows) json["rows"].push_back(json_of(row));
  if (!comparison.reports.empty()) json["violation_reports"] = comparison.reports;
  if (!comparison.notes.empty()) json["notes"] = comparison.notes;
  return json;
}

}  // namespace

Result<std::monostate> write_comparison(const Comparison& comparison, const std::string& path) {
  return replay::write_json(path, json_of(comparison));
}

}  // namespace canopy::lab
