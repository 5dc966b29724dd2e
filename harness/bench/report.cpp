#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "bench.h"
#include <canopy/support/atomic_file.h>

namespace canopy::bench {
namespace {

using nlohmann::ordered_json;

constexpr const char* kKinds[] = {"time", "bytes", "share"};

ordered_json json_of(const Spread& spread) {
  return {{"median", spread.median}, {"low", spread.low}, {"high", spread.high}};
}

Spread spread_of(const ordered_json& json) {
  return {json.at("median").get<double>(), json.at("low").get<double>(), json.at("high").get<double>()};
}

Kind kind_of(const std::string& name) {
  for (std::size_t i = 0; i < std::size(kKinds); ++i)
    if (name == kKinds[i]) return static_cast<Kind>(i);
  throw std::invalid_argument("'" + name + "' is no kind of row; expected time, bytes or share");
}

}  // namespace

Result<std::monostate> write_report(const Report& report, const std::string& path) {
  ordered_json rows = ordered_json::array();
  for (const Row& row : report.rows) {
    ordered_json json{{"section", row.section},
                      {"name", row.name},
                      {"kind", kKinds[static_cast<int>(row.kind)]},
                      {"per", row.per},
                      {"ours", json_of(row.ours)}};
    if (row.floor) json["floor"] = json_of(*row.floor);
    if (row.original) json["original"] = json_of(*row.original);
    if (!row.note.empty()) json["note"] = row.note;
    rows.push_back(std::move(json));
  }
  const ordered_json json{{"index", report.index},
                          {"source", report.source},
                          {"quick", report.quick},
                          {"rows", rows},
                          {"remarks", report.remarks}};
  return write_file_atomically(path, json.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n");
}

Result<Report> read_report(const std::string& path) {
  std::ifstream file(path);
  if (!file) return Error{path + ": this file cannot be read; expected what `canopy bench --json` wrote"};
  try {
    const ordered_json json = ordered_json::parse(file);
    Report report;
    report.index = json.at("index").get<std::string>();
    report.source = json.at("source").get<std::string>();
    report.quick = json.at("quick").get<bool>();
    report.remarks = json.at("remarks").get<std::vector<std::string>>();
    for (const ordered_json& row : json.at("rows")) {
      Row& read = report.rows.emplace_back();
      read.section = row.at("section").get<std::string>();
      read.name = row.at("name").get<std::string>();
      read.kind = kind_of(row.at("kind").get<std::string>());
      read.per = row.at("per").get<std::string>();
      read.ours = spread_of(row.at("ours"));
      if (row.contains("floor")) read.floor = spread_of(row.at("floor"));
      if (row.contains("original")) read.original = spread_of(row.at("original"));
      read.note = row.value("note", "");
    }
    return report;
  } catch (const std::exception& error) {
    return Error{path + ": this is not what `canopy bench --json` writes: " + error.what()};
  }
}

std::optional<Change> change_since(const Report& old, const Row& row) {
  for (const Row& before : old.rows) {
    if (before.name != row.name || before.kind != row.kind) continue;
    if (before.ours.median == 0) return Change{};
    return Change{row.ours.median / before.ours.median - 1,
                  row.ours.low > before.ours.high || row.ours.high < before.ours.low};
  }
  return std::nullopt;
}

std::optional<std::string> cannot_compare(const Report& old, const Report& now) {
  if (old.quick != now.quick) return "one of the two was made with --quick: their trees and replays differ in size";
  if (!old.source.empty() && !now.source.empty() && old.source != now.source)
    return fmt::format("their replays differ: {} then, {} now", old.source, now.source);
  return std::nullopt;
}

}  // namespace canopy::bench
