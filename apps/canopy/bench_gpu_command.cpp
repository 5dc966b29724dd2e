#include <fmt/format.h>

#include "commands.h"
#include "terminal.h"
#include <canopy/support/atomic_file.h>

namespace canopy::app {
namespace {

using namespace bench::gpu;

std::string figure(double value, Unit unit) {
  if (unit == Unit::time) return seconds(value);
  if (unit == Unit::share) return fmt::format("{:.3f}", value);
  return fmt::format("{:.1f} GB/s", 1e-9 * value);
}

void print_lines(const Report& report, const Terminal& terminal) {
  Grid grid({"row", "median", "10 %", "90 %", "of roofline", "best peer", "x peer", ""});
  std::string section;
  for (const Line& line : report.lines) {
    if (line.section != section) grid.section(section = line.section);
    const Peer* best = nullptr;
    const auto better = [&](double a, double b) { return line.unit == Unit::time ? a < b : a > b; };
    for (const Peer& peer : line.peers)
      if (!best || better(peer.value.median, best->value.median)) best = &peer;
    const double times = !best                     ? 0
                         : line.unit == Unit::time ? best->value.median / line.value.median
                                                   : line.value.median / best->value.median;
    std::string note = line.note;
    if (best) note += (note.empty() ? "peer: " : "; peer: ") + best->name;
    if (line.value.samples < 30)
      note += fmt::format("{}{}", note.empty() ? "" : "; ", plural(line.value.samples, "sample"));
    grid.row({{line.name},
              {figure(line.value.median, line.unit)},
              {figure(line.value.low, line.unit)},
              {figure(line.value.high, line.unit)},
              {line.of_roofline ? fmt::format("{:.3f}", *line.of_roofline) : "-"},
              {best ? figure(best->value.median, line.unit) : "-"},
              {best ? fmt::format("{:.2f}", times) : "-"},
              {note, "2"}});
  }
  grid.print(terminal);
}

void print_demands(const Report& report, const Terminal& terminal) {
  fmt::print("\n");
  Grid grid({"acceptance", "verdict", ""});
  for (const Demand& demand : report.demands) {
    const bool met = demand.verdict == Demand::Verdict::met, missed = demand.verdict == Demand::Verdict::missed;
    grid.row({{fmt::format("{}: {}", demand.id, demand.demand)},
              {met      ? "met"
               : missed ? "missed"
                        : "not measured",
               met      ? "32"
               : missed ? "31"
                        : nullptr},
              {demand.measured}});
  }
  grid.print(terminal);
}

void print(const Report& report) {
  const Terminal terminal = Terminal::of_stdout();
  if (report.device.empty()) {
    fmt::print("No GPU was at hand ({}): only what the CPU does was measured.\n\n", report.why);
  } else {
    fmt::print("{}, driver {}.{}, {} free of {}{}\n", report.device, report.driver_version / 1000,
               report.driver_version % 1000 / 10, bytes(report.free_bytes), bytes(report.total_bytes),
               report.clock_khz > 0 ? fmt::format(", clocks up to {} and {} MHz", report.clock_khz / 1000,
                                                  report.memory_clock_khz / 1000)
                                    : "");
    if (report.fake)
      fmt::print("{}\n", terminal.yellow("A fake device: these are not GPU figures. The run shows only that every row "
                                         "executes and moves the right bytes."));
    fmt::print("\n");
  }
  print_lines(report, terminal);
  print_demands(report, terminal);
  fmt::print("\n");
  for (const std::string& remark : report.remarks) fmt::print("{}\n", remark);
  for (const std::string& failure : report.failures) fmt::print("{} {}\n", terminal.red("failed:"), failure);
  fmt::print(
      "Rates count bytes read and bytes written for what stays on the device, and bytes that crossed for what does "
      "not; "
      "roofline:\nthe driver's own copy of one large piece, in this run. Times are the device's, by events, unless a "
      "row says otherwise. {}\nPeers that need other software (torch, other engines' kernels) are not measured here.\n",
      seconds(report.took));
}

}  // namespace

int measure_gpu(const BenchGpuArguments& arguments, const PluginFolders& folders) {
  if (!arguments.json.empty())
    if (auto can = can_write_file(arguments.json); !can) return unusable(can.error().text);
  ProgressBar bar("bench gpu", "rows");
  auto report = bench::gpu::run(
      arguments.options, [&] { return load_plugins(folders); },
      [&](double share, std::uint64_t rows) { bar.show(share, rows); });
  bar.clear();
  if (!report) return unusable(report.error().text);
  if (!arguments.json.empty())
    if (auto written = write_report(*report, arguments.json); !written) return unusable(written.error().text);
  print(*report);
  if (!report->failures.empty()) return kViolations;
  if (!report->device.empty()) return kFine;
  return unusable("canopy bench gpu: no GPU was at hand: " + report->why);
}

}  // namespace canopy::app
