#include <canopy/base/printable.h>

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

listing::Listing<TenantFacts> tenants_listing(const TraceFacts& facts) {
  using Row = TenantFacts;
  using listing::Share, listing::Unit;
  listing::Listing<Row> list;
  list.add("namespace", Unit::text, [](const Row& row) { return shown_name(row.first); });
  list.add_in_files("namespace", [](const Row& row) { return row.first; });
  list.add("requests", Unit::count, [](const Row& row) { return row.second.requests; }).in_files("requests");
  list.add("prompt tokens", Unit::count, [](const Row& row) { return row.second.prompt_tokens; })
      .in_files("prompt_tokens");
  list.add("of all", Unit::count,
           [all = facts.prompt_tokens](const Row& row) { return Share{row.second.prompt_tokens, all}; });
  list.add_in_files("reused_tokens", [](const Row& row) { return row.second.reused_tokens; });
  list.add("reused", Unit::count,
           [](const Row& row) { return Share{row.second.reused_tokens, row.second.prompt_tokens}; });
  return list;
}

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
  CANOPY_PUT(json, facts, popular, working_most, working_window_ms, window_ms, moments);
  json["tenants"] = listing::json_of<ordered_json>(
      tenants_listing(facts), std::vector<TenantFacts>(facts.tenants.begin(), facts.tenants.end()));
  if (!facts.doubts.empty()) json["doubts"] = facts.doubts;
  return json;
}

}  // namespace canopy::workload
