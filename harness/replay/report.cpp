#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "json_file.h"
#include "replay.h"

namespace canopy::replay {

using nlohmann::ordered_json;

static void to_json(ordered_json& json, const GroupReport& group) {
  json = {{"name", group.name},
          {"policy", group.policy},
          {"policy_version", group.policy_version},
          {"tree_pages", group.tree_pages},
          {"free_pages", group.free_pages},
          {"longest_free_run", group.longest_free_run},
          {"handed_pages", group.handed_pages},
          {"handed_runs", group.handed_runs}};
}

/// The hits of each tier, and what moved between them.
static ordered_json tier_fields(const Report& report) {
  const TierReport& tier = *report.host_tier;
  ordered_json fetches, ends;
  for (std::size_t i = 0; i < kFetchEndCount; ++i) ends[kFetchEnds[i]] = tier.moved.ends[i];
  for (std::size_t i = 0; i < kFetchOutcomeCount; ++i) fetches[kFetchOutcomes[i]] = tier.moved.fetches[i];
  const std::uint64_t stored = report.storage ? report.storage->hit_tokens : 0;
  return {{"hit_tokens_device", report.hit_tokens - tier.hit_tokens - stored},
          {"hit_tokens_host", tier.hit_tokens},
          {"written_tokens_host", tier.moved.written_tokens},
          {"written_bytes_host", tier.moved.written_bytes},
          {"read_tokens_host", tier.moved.loaded_tokens},
          {"read_bytes_host", tier.moved.loaded_bytes},
          {"dropped_tokens_host", tier.moved.dropped_tokens},
          {"lost_tokens_host", tier.moved.lost_tokens},
          {"evicted_tokens_host", tier.evicted_tokens},
          {"resident_tokens_host", tier.resident_tokens},
          {"capacity_tokens_host", tier.capacity_tokens},
          {"nodes_host", tier.nodes},
          {"index_bytes_host", tier.index_bytes},
          {"index_seconds_host", tier.index_seconds},
          {"fetch_wait_us", tier.waited_us},
          {"fetch_load_us", tier.load_us},
          {"fetch_hidden_us", tier.hidden_us},
          {"fetch_saved_us", tier.moved.saved_us},
          {"fetch_later_requests", tier.later},
          {"fetch_latest_us", tier.latest_us},
          {"fetches", std::move(fetches)},
          {"fetch_ends", std::move(ends)}};
}

static ordered_json storage_fields(const StorageReport& storage) {
  ordered_json brings;
  for (std::size_t i = 0; i < kBringOutcomeCount; ++i) brings[kBringOutcomes[i]] = storage.moved.brings[i];
  return {{"hit_tokens_storage", storage.hit_tokens},
          {"written_tokens_storage", storage.moved.written_tokens},
          {"written_bytes_storage", storage.moved.written_bytes},
          {"unkept_tokens_storage", storage.moved.unkept_tokens},
          {"dropped_tokens_storage", storage.moved.dropped_tokens},
          {"read_tokens_storage", storage.moved.read_tokens},
          {"read_bytes_storage", storage.moved.read_bytes},
          {"damaged_records_storage", storage.moved.damaged_records},
          {"breaks_storage", storage.moved.breaks},
          {"outwaited_storage", storage.moved.outwaited},
          {"fetches_storage", std::move(brings)}};
}

Result<std::monostate> write_report(const Report& report, const std::string& path) {
  ordered_json json{{"config", report.config},
                    {"source", report.source},
                    {"mode", report.mode == Mode::serial ? "serial" : "timed"},
                    {"page_size", report.page_size},
                    {"capacity_tokens", report.capacity_tokens == kUnlimited ? ordered_json(nullptr)
                                                                             : ordered_json(report.capacity_tokens)},
                    {"requests", report.requests},
                    {"prompt_tokens", report.prompt_tokens},
                    {"hit_tokens", report.hit_tokens},
                    {"hit_rate", report.hit_rate()},
                    {"evict_calls", report.evict_calls},
                    {"evicted_tokens", report.evicted_tokens},
                    {"rejected", report.rejected},
                    {"resident_tokens", report.resident_tokens},
                    {"groups", report.groups},
                    {"nodes", report.nodes},
                    {"namespaces", report.spaces},
                    {"index_bytes", report.index_bytes},
                    {"inserts_cut_short", report.inserts_cut_short},
                    {"index_seconds", report.index_seconds},
                    {"seconds", report.seconds},
                    {"ledger_checks", report.ledger_checks},
                    {"content_checks", report.content_checks},
                    {"violations", report.violations},
                    {"digest", fmt::format("{:016x}", report.digest)},
                    {"seed", report.seed}};
  if (report.mode == Mode::timed)
    json.update({{"output_tokens", report.output_tokens},
                 {"aborted", report.aborted},
                 {"retracted", report.retracted},
                 {"waited", report.waited},
                 {"schedule", scheduling::kScheduleNames[static_cast<std::size_t>(report.order.schedule)]},
                 {"mean_wait_ms", report.mean_wait_ms},
                 {"p95_wait_ms", report.p95_wait_ms},
                 {"steps", report.steps},
                 {"repointed_tokens", report.repointed_tokens},
                 {"rematched_tokens", report.rematched_tokens},
                 {"most_running", report.most_running}});
  if (report.host_tier) json.update(tier_fields(report));
  if (report.storage) json.update(storage_fields(*report.storage));
  if (report.published)
    json["kv_events"] = {{"batches", report.published->batches},
                         {"bytes", report.published->bytes},
                         {"stored_blocks", report.published->stored_blocks},
                         {"removed_blocks", report.published->removed_blocks},
                         {"losses", report.published->losses}};
  if (report.engine_digest) json["engine_digest"] = fmt::format("{:016x}", report.engine_digest);
  if (!report.reports.empty()) json["violation_reports"] = report.reports;
  return write_json(path, json);
}

}  // namespace canopy::replay
