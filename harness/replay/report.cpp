#include <cstdio>
#include <nlohmann/json.hpp>

#include "replay.h"
#include <canopy/support/atomic_file.h>

namespace canopy::replay {

Result<std::monostate> write_report(const Report& report, const std::string& path) {
  nlohmann::ordered_json json{{"config", report.config},
                              {"source", report.source},
                              {"mode", report.mode == Mode::serial ? "serial" : "timed"},
                              {"page_size", report.page_size},
                              {"capacity_tokens", nullptr},
                              {"requests", report.requests},
                              {"prompt_tokens", report.prompt_tokens},
                              {"hit_tokens", report.hit_tokens},
                              {"hit_rate", report.hit_rate()},
                              {"evict_calls", report.evict_calls},
                              {"evicted_tokens", report.evicted_tokens},
                              {"rejected", report.rejected},
                              {"resident_tokens", report.resident_tokens},
                              {"groups", nullptr},
                              {"nodes", report.nodes},
                              {"namespaces", report.spaces},
                              {"index_bytes", report.index_bytes},
                              {"index_seconds", report.index_seconds},
                              {"seconds", report.seconds},
                              {"ledger_checks", report.ledger_checks},
                              {"content_checks", report.content_checks},
                              {"violations", report.violations},
                              {"digest", nullptr},
                              {"seed", report.seed}};
  if (report.capacity_tokens != kUnlimited) json["capacity_tokens"] = report.capacity_tokens;
  json["groups"] = nlohmann::ordered_json::array();
  for (const GroupReport& group : report.groups)
    json["groups"].push_back({{"name", group.name},
                              {"tree_pages", group.tree_pages},
                              {"free_pages", group.free_pages},
                              {"longest_free_run", group.longest_free_run},
                              {"handed_pages", group.handed_pages},
                              {"handed_runs", group.handed_runs}});
  char digest[17];
  std::snprintf(digest, sizeof(digest), "%016llx", static_cast<unsigned long long>(report.digest));
  json["digest"] = digest;
  if (report.mode == Mode::timed)
    json.update({{"output_tokens", report.output_tokens},
                 {"aborted", report.aborted},
                 {"retracted", report.retracted},
                 {"waited", report.waited},
                 {"steps", report.steps},
                 {"repointed_tokens", report.repointed_tokens},
                 {"most_running", report.most_running}});
  if (!report.reports.empty()) json["violation_reports"] = report.reports;
  return write_file_atomically(path, json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

}  // namespace canopy::replay
