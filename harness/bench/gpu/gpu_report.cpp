#include <nlohmann/json.hpp>

#include "gpu_bench.h"
#include <canopy/support/atomic_file.h>

namespace canopy::bench::gpu {
namespace {

using nlohmann::ordered_json;

constexpr const char* kUnits[] = {"bytes a second", "seconds", "share"};
constexpr const char* kVerdicts[] = {"met", "missed", "not measured"};

ordered_json json_of(const Range& range) {
  return {{"median", range.median}, {"p10", range.low}, {"p90", range.high}, {"samples", range.samples}};
}

}  // namespace

Result<std::monostate> write_report(const Report& report, const std::string& path) {
  ordered_json lines = ordered_json::array(), demands = ordered_json::array();
  for (const Line& line : report.lines) {
    ordered_json json{{"section", line.section},
                      {"name", line.name},
                      {"unit", kUnits[static_cast<int>(line.unit)]},
                      {"value", json_of(line.value)},
                      {"on_gpu", line.on_gpu}};
    if (line.of_roofline) json["of_roofline"] = *line.of_roofline;
    for (const Peer& peer : line.peers) json["peers"].push_back({{"name", peer.name}, {"value", json_of(peer.value)}});
    if (!line.note.empty()) json["note"] = line.note;
    lines.push_back(std::move(json));
  }
  for (const Demand& demand : report.demands)
    demands.push_back({{"id", demand.id},
                       {"demand", demand.demand},
                       {"measured", demand.measured},
                       {"verdict", kVerdicts[static_cast<int>(demand.verdict)]}});
  const ordered_json json{{"device", report.device},
                          {"fake_device", report.fake},
                          {"driver_version", report.driver_version},
                          {"clock_khz", report.clock_khz},
                          {"memory_clock_khz", report.memory_clock_khz},
                          {"free_bytes", report.free_bytes},
                          {"total_bytes", report.total_bytes},
                          {"budget_seconds", report.budget},
                          {"took_seconds", report.took},
                          {"lines", lines},
                          {"acceptance", demands},
                          {"remarks", report.remarks},
                          {"failures", report.failures}};
  return write_file_atomically(path, json.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n");
}

}  // namespace canopy::bench::gpu
