#include <canopy/support/atomic_file.h>

#include "bench_print.h"
#include "commands.h"
#include "terminal.h"

namespace canopy::app {
namespace {

Result<bench::Report> measured(const BenchArguments& arguments, const PluginFolders& folders) {
  if (!arguments.from.empty()) return bench::read_report(arguments.from);
  ProgressBar bar("bench", "rows");
  auto report = bench::run(arguments.options, load_plugins(folders),
                           [&](double share, std::uint64_t rows) { bar.show(share, rows); });
  bar.clear();
  if (report && arguments.options.trace.empty() && !report->source.empty())
    report->remarks.push_back("No trace was named (--trace FILE), so the replays ran a generated workload, " +
                              report->source + ".");
  return report;
}

}  // namespace

int measure(const BenchArguments& arguments, const PluginFolders& folders) {
  if (!arguments.json.empty())
    if (auto can = can_write_file(arguments.json); !can) return unusable(can.error().text);
  std::optional<bench::Report> old;
  if (!arguments.compare.empty()) {
    auto read = bench::read_report(arguments.compare);
    if (!read) return unusable(read.error().text);
    old = std::move(*read);
    bench::Report planned;
    planned.quick = arguments.options.quick;
    if (arguments.from.empty())
      if (const auto why = bench::cannot_compare(*old, planned)) return unusable(arguments.compare + ": " + *why);
  }
  auto report = measured(arguments, folders);
  if (!report) return unusable(report.error().text);
  if (!arguments.json.empty())
    if (auto written = bench::write_report(*report, arguments.json); !written) return unusable(written.error().text);
  if (old)
    if (const auto why = bench::cannot_compare(*old, *report)) return unusable(arguments.compare + ": " + *why);
  print(*report, old ? &*old : nullptr);
  return kFine;
}

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
    if (auto written = bench::write_report(*report, arguments.json); !written) return unusable(written.error().text);
  print(*report, nullptr);
  if (!report->failures.empty()) return kViolations;
  if (!report->gpu->device.empty()) return kFine;
  return unusable("canopy bench gpu: no GPU was at hand: " + report->gpu->why);
}

}  // namespace canopy::app
