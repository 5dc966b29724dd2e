#include <canopy/base/figures.h>
#include <fmt/args.h>

#include <workload/json_file.h>

#include "replay.h"

namespace canopy::replay {

using nlohmann::ordered_json;

CANOPY_TO_JSON(GroupReport, name, policy, policy_version, tree_pages, free_pages, longest_free_run, handed_pages,
               handed_runs)
CANOPY_TO_JSON(PublishedReport, batches, bytes, stored_blocks, removed_blocks, losses)

/// Returns the tenants with their shares and figures. An absent ceiling is null.
static ordered_json tenants_of(const Report& report) {
  ordered_json all = ordered_json::array();
  for (const TenantUse& tenant : report.tenants) {
    ordered_json& json = all.emplace_back();
    CANOPY_PUT(json, tenant, name);
    CANOPY_PUT(json, tenant.share, floor, weight, ceiling, pins);
    if (tenant.share.ceiling == kUnlimited) json["ceiling"] = nullptr;
    for (const TenantFigure& figure : kTenantFigures) json[figure.name] = tenant.*figure.figure;
    json["hit_rate"] =
        tenant.prompt_tokens
            ? ordered_json(static_cast<double>(tenant.hit_tokens) / static_cast<double>(tenant.prompt_tokens))
            : ordered_json(nullptr);
  }
  return all;
}

static void to_json(ordered_json& json, Mode mode) { json = mode == Mode::serial ? "serial" : "timed"; }

/// Returns the value of a counter, or one for each group, lane and outcome.
static ordered_json value_of(const CounterValues& counters, Counter counter, const std::vector<GroupReport>& groups) {
  const CounterInfo& info = info_of(counter);
  ordered_json all;
  for (std::size_t row = 0; row < info.rows.size; ++row) {
    if (is_by(info.rows, "group") && row >= groups.size()) break;
    ordered_json values;
    for (std::size_t column = 0; column < info.columns.size; ++column) {
      const std::uint64_t value = counters.at(counter, row, column);
      const ordered_json shown = is_shown(info, value) || value == 0 ? ordered_json(value) : ordered_json(nullptr);
      if (info.columns.label) values[info.columns.names[column]] = shown;
      else values = shown;
    }
    if (!info.rows.label) return values;
    all[info.rows.names.empty() ? groups[row].name : info.rows.names[row]] = std::move(values);
  }
  return all;
}

/// Returns the hits of each tier and what moved between them.
static ordered_json tier_fields(const Report& report) {
  const TierReport& tier = *report.host_tier;
  ordered_json fields{{"hit_tokens_device", report.hit_tokens_device()},
                      {"resident_tokens_host", tier.resident_tokens},
                      {"capacity_tokens_host", tier.capacity_tokens},
                      {"nodes_host", tier.nodes},
                      {"index_bytes_host", tier.index_bytes},
                      {"index_seconds_host", tier.index_seconds},
                      {"fetch_wait_us", tier.waited_us},
                      {"fetch_load_us", tier.load_us},
                      {"fetch_hidden_us", tier.hidden_us},
                      {"fetch_later_requests", tier.later},
                      {"fetch_latest_us", tier.latest_us}};
  for_each_counter([&](Counter counter, const CounterInfo& info) {
    if (info.tier == "host" || tier.storage) fields[info.name] = value_of(tier.counters, counter, report.groups);
  });
  return fields;
}

std::span<const Figure> figures() {
#define CANOPY_STORED(type, name, when, unit, help) CANOPY_DERIVED(name, report.name, when, unit, help)
#define CANOPY_DERIVED(name, value, when, unit, help) \
  {#name, unit, help, When::when, [](const Report& report) { return ordered_json(value); }},
  static constexpr Figure kFigures[] = {CANOPY_RUN_FIGURES(CANOPY_STORED, CANOPY_DERIVED)};
#undef CANOPY_STORED
#undef CANOPY_DERIVED
  return kFigures;
}

ordered_json json_of(const Report& report, bool all) {
  ordered_json json;
  for (const Figure& figure : figures()) {
    const std::string_view unit = figure.unit;
    if (!all && (figure.when == When::printed || (figure.when == When::timed && report.mode != Mode::timed))) continue;
    ordered_json value = figure.read(report);
    if (unit == "limit" && value == kUnlimited) value = nullptr;
    json[figure.name] = unit == "digest" ? ordered_json(hex_of(value)) : std::move(value);
  }
  if (report.host_tier) json.update(tier_fields(report));
  if (!report.tenants.empty()) {
    json["tenants"] = tenants_of(report);
    json["payments"] = ordered_json::array();
    for (const TenantPayment& payment : report.payments)
      json["payments"].push_back({{"from", payment.from}, {"to", payment.to}, {"tokens", payment.tokens}});
  }
  if (report.published) json["kv_events"] = *report.published;
  if (report.engine_digest) json["engine_digest"] = hex_of(report.engine_digest);
  if (all || !report.reports.empty()) json["violation_reports"] = report.reports;
  if (all || !report.doubts.empty()) json["doubts"] = report.doubts;
  if (all || !report.notes.empty()) json["notes"] = report.notes;
  return json;
}

/// Returns a figure's value with its unit, and without.
static std::pair<std::string, std::string> words_of(const Figure& figure, const ordered_json& value) {
  const std::string_view unit = figure.unit;
  const auto same = [](std::string text) { return std::pair(text, text); };
  if (unit == "list") return {};
  if (value.is_null()) return same("-");
  if (unit == "text") return same(value);
  if (unit == "share") return same(percent(value.get<double>()));
  if (unit == "s") return same(seconds(value));
  if (unit == "ms") return same(seconds(value.get<double>() / 1000));
  const auto number = value.get<std::uint64_t>();
  if (unit == "bytes") return same(bytes(number));
  if (unit == "digest") return same(hex_of(number));
  if (unit == "number") return same(std::to_string(number));
  if (unit == "limit") return same(number == kUnlimited ? "unlimited" : grouped(number));
  return {plural(number, unit), grouped(number)};
}

std::string in_words(const Report& report, std::string_view text) {
  fmt::dynamic_format_arg_store<fmt::format_context> words;
  for (const Figure& figure : figures()) {
    const auto [with, without] = words_of(figure, figure.read(report));
    const std::string bare = std::string("n_") + figure.name;
    words.push_back(fmt::arg(figure.name, with));
    words.push_back(fmt::arg(bare.c_str(), without));
  }
  return fmt::vformat(text, words);
}

Result<std::monostate> write_report(const Report& report, const std::string& path) {
  return write_json(path, json_of(report, false));
}

}  // namespace canopy::replay
