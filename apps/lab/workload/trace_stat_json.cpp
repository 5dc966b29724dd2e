#include "json_file.h"
#include "trace_stat.h"

namespace canopy::workload {

using nlohmann::ordered_json;

/// Returns bars as JSON. `count`: the name of what a bar counts.
static ordered_json bars(const std::vector<Bar>& all, const char* count) {
  ordered_json list = ordered_json::array();
  for (const Bar& bar : all)
    list.push_back({{"from", bar.from},
                    {"to", bar.to ? ordered_json(bar.to) : ordered_json(nullptr)},
                    {count, bar.count},
                    {"tokens", bar.tokens}});
  return list;
}

CANOPY_TO_JSON(TraceFacts::Popular, distinct_share, prompt_share)
CANOPY_TO_JSON(TraceFacts::Moment, ms, requests, prompt_tokens, reused_tokens, distinct_tokens, working_tokens)

ordered_json json_of(const TraceFacts& facts, const std::string& trace) {
  ordered_json json{{"trace", trace}};
  CANOPY_PUT(json, facts, unit, requests, prompt_tokens, output_tokens, span_ms, longest_prompt, distinct_tokens,
             reused_tokens);
  json["reused_share"] = facts.reused();
  CANOPY_PUT(json, facts, resent_requests, retained_requests, retained_tokens, longest_retention_ms);
  json["turns_told"] = facts.turns_given;
  json["prompts"] = bars(facts.prompts, "requests");
  json["turns"] = bars(facts.turns, "requests");
  json["gaps_ms"] = bars(facts.gaps_ms, "units");
  json["gaps_tokens"] = bars(facts.gaps_tokens, "units");
  json["depths"] = bars(facts.depths, "reused_tokens");
  json["uses"] = bars(facts.uses, "units");
  json["lifetimes_ms"] = bars(facts.lifetimes, "units");
  CANOPY_PUT(json, facts, popular, window_ms, moments);
  json["tenants"] = ordered_json::array();
  for (const auto& [name, tenant] : facts.tenants) {
    ordered_json& entry = json["tenants"].emplace_back(ordered_json{{"namespace", name}});
    CANOPY_PUT(entry, tenant, requests, prompt_tokens, reused_tokens);
  }
  if (!facts.doubts.empty()) json["doubts"] = facts.doubts;
  return json;
}

}  // namespace canopy::workload
