#include "trace_stat.h"

#include <canopy/support/atomic_file.h>

#include <nlohmann/json.hpp>

namespace canopy::workload {

using nlohmann::ordered_json;

/// `count`: what a bar counts.
static ordered_json bars(const std::vector<Bar>& all, const char* count) {
  ordered_json list = ordered_json::array();
  for (const Bar& bar : all)
    list.push_back({{"from", bar.from},
                    {"to", bar.to ? ordered_json(bar.to) : ordered_json(nullptr)},
                    {count, bar.count},
                    {"tokens", bar.tokens}});
  return list;
}

Result<std::monostate> write_facts(const TraceFacts& facts, const std::string& trace, const std::string& path) {
  ordered_json tenants = ordered_json::array();
  for (const auto& [name, tenant] : facts.tenants)
    tenants.push_back({{"namespace", name},
                       {"requests", tenant.requests},
                       {"prompt_tokens", tenant.prompt_tokens},
                       {"reused_tokens", tenant.reused_tokens}});
  const ordered_json json{{"trace", trace},
                          {"unit", facts.unit},
                          {"requests", facts.requests},
                          {"prompt_tokens", facts.prompt_tokens},
                          {"output_tokens", facts.output_tokens},
                          {"span_ms", facts.span_ms},
                          {"longest_prompt", facts.longest_prompt},
                          {"distinct_tokens", facts.distinct_tokens},
                          {"reused_tokens", facts.reused_tokens},
                          {"reused_share", facts.reused()},
                          {"resent_requests", facts.resent_requests},
                          {"turns_told", facts.turns_told},
                          {"prompts", bars(facts.prompts, "requests")},
                          {"turns", bars(facts.turns, "requests")},
                          {"gaps_ms", bars(facts.gaps_ms, "units")},
                          {"gaps_tokens", bars(facts.gaps_tokens, "units")},
                          {"depths", bars(facts.depths, "reused_tokens")},
                          {"uses", bars(facts.uses, "units")},
                          {"tenants", tenants}};
  return write_file_atomically(path, json.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n");
}

}  // namespace canopy::workload
