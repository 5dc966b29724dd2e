/// The JSON of a report.
#include <canopy/base/file.h>
#include <workload/json_file.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "report.h"

namespace canopy::bench {

using nlohmann::ordered_json;

constexpr const char* kKinds[] = {"time", "bytes", "share", "rate"};
constexpr const char* kVerdicts[] = {"met", "missed", "not measured"};

static void to_json(ordered_json& json, const Spread& spread) {
  json = {{"median", spread.median}, {"low", spread.low}, {"high", spread.high}};
  if (spread.samples > 0) json["samples"] = spread.samples;
}

static void from_json(const ordered_json& json, Spread& spread) {
  json.at("median").get_to(spread.median);
  json.at("low").get_to(spread.low);
  json.at("high").get_to(spread.high);
}

static void to_json(ordered_json& json, const Row& row) {
  json = {{"section", row.section},
          {"name", row.name},
          {"kind", kKinds[static_cast<int>(row.kind)]},
          {"per", row.per},
          {"ours", row.ours}};
  if (row.floor) json["floor"] = *row.floor;
  if (row.original) json["original"] = *row.original;
  if (!row.note.empty()) json["note"] = row.note;
}

static void from_json(const ordered_json& json, Row& row) {
  json.at("section").get_to(row.section);
  json.at("name").get_to(row.name);
  const std::string kind = json.at("kind");
  std::size_t known = 0;
  while (known < std::size(kKinds) && kind != kKinds[known]) ++known;
  if (known == std::size(kKinds)) throw std::invalid_argument("'" + kind + "' is not a kind of row");
  row.kind = static_cast<Kind>(known);
  json.at("per").get_to(row.per);
  json.at("ours").get_to(row.ours);
  if (json.contains("floor")) row.floor = json.at("floor").get<Spread>();
  if (json.contains("original")) row.original = json.at("original").get<Spread>();
  row.note = json.value("note", "");
}

static void to_json(ordered_json& json, const Demand& demand) {
  json = {{"id", demand.id},
          {"demand", demand.demand},
          {"measured", demand.measured},
          {"verdict", kVerdicts[static_cast<int>(demand.verdict)]}};
}

Result<std::monostate> write_report(const Report& report, const std::string& path) {
  ordered_json json;
  if (const auto& gpu = report.gpu)
    json = {{"device", gpu->device},
            {"fake_device", gpu->fake},
            {"driver_version", gpu->driver_version},
            {"free_bytes", gpu->free_bytes},
            {"total_bytes", gpu->total_bytes},
            {"budget_seconds", gpu->budget},
            {"took_seconds", gpu->took},
            {"rows", report.rows},
            {"acceptance", report.demands},
            {"remarks", report.remarks},
            {"failures", report.failures}};
  else
    json = {{"index", report.index},
            {"source", report.source},
            {"quick", report.quick},
            {"rows", report.rows},
            {"remarks", report.remarks}};
  return write_json(path, json);
}

Result<Report> read_report(const std::string& path) {
  constexpr const char* kExpected = "; expected a file of `canopy-dev bench --json`";
  const OpenedFile there = open_regular(path);
  if (there.error == 0 && !there.descriptor)
    return Error{path + ": this is " + kind_of(there.facts.st_mode) + kExpected};
  std::ifstream file(path);
  if (!there.descriptor || !file) return Error{path + ": this file cannot be read" + kExpected};
  try {
    const ordered_json json = ordered_json::parse(file);
    Report report;
    json.at("index").get_to(report.index);
    json.at("source").get_to(report.source);
    json.at("quick").get_to(report.quick);
    json.at("remarks").get_to(report.remarks);
    json.at("rows").get_to(report.rows);
    return report;
  } catch (const std::exception& error) {
    return Error{path + ": this is not a file of `canopy-dev bench --json`: " + error.what()};
  }
}

}  // namespace canopy::bench
