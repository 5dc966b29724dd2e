#include <canopy/support/atomic_file.h>
#include <fmt/format.h>
#include <workload/trace_formats.h>

#include "bench_print.h"
#include "commands.h"
#include "interrupt.h"
#include "terminal.h"

namespace canopy::app {
namespace {

Result<bench::Report> measured(const BenchArguments& arguments, const Registry& registry) {
  if (!arguments.from.empty()) return bench::read_report(arguments.from);
  ProgressBar bar("bench", "rows");
  bench::Options options = arguments.options;
  options.stopped = Interrupt::came;
  auto report = bench::run(options, registry, [&](double share, std::uint64_t rows) { bar.show(share, rows); });
  bar.clear();
  if (report && arguments.options.trace.empty() && !report->source.empty())
    report->remarks.push_back("No trace was named (--trace FILE), so the replays ran a generated workload, " +
                              report->source + ".");
  return report;
}

/// Prints first: a full disk must not lose what took minutes to measure.
int print_and_write(const bench::Report& report, const bench::Report* old, const std::string& path) {
  print_whatever_happens([&] { print(report, old); });
  if (report.incomplete) {
    unusable(fmt::format("canopy bench: {} stopped it{}", Interrupt::name(),
                         path.empty() ? "" : "; no file was written, since it would be incomplete"));
    return Interrupt::exit_code();
  }
  if (path.empty()) return kFine;
  const auto written = bench::write_report(report, path);
  return written ? kFine : unusable(written.error().text);
}

}  // namespace

int measure(const BenchArguments& arguments, const PluginFolders& folders) {
  const Registry registry = load_plugins(folders);
  const std::string& trace = arguments.options.trace;
  if (auto apart = check_files(registry,
                               {{"--trace", trace.empty() ? "" : workload::trace_path(trace)},
                                {"--compare", arguments.compare},
                                {"--from", arguments.from}},
                               {{"--json", arguments.json}});
      !apart)
    return unusable(apart.error().text);
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
  const Interrupt interrupt;
  auto report = measured(arguments, registry);
  if (!report) return unusable(report.error().text);
  std::string why;
  if (old)
    if (const auto reason = bench::cannot_compare(*old, *report)) why = arguments.compare + ": " + *reason;
  const int status = print_and_write(*report, why.empty() && old ? &*old : nullptr, arguments.json);
  return why.empty() ? status : unusable(why);
}

int measure_gpu(const BenchGpuArguments& arguments, const PluginFolders& folders) {
  const RunFile output{"--json", arguments.json};
  if (auto apart = check_run_files({}, {&output, 1}); !apart) return unusable(apart.error().text);
  if (!arguments.json.empty())
    if (auto can = can_write_file(arguments.json); !can) return unusable(can.error().text);
  const Interrupt interrupt;
  ProgressBar bar("bench gpu", "rows");
  bench::gpu::Options options = arguments.options;
  options.stopped = Interrupt::came;
  auto report = bench::gpu::run(
      options, [&] { return load_plugins(folders); }, [&](double share, std::uint64_t rows) { bar.show(share, rows); });
  bar.clear();
  if (!report) return unusable(report.error().text);
  const int status = print_and_write(*report, nullptr, arguments.json);
  if (status != kFine) return status;
  if (!report->failures.empty()) return kViolations;
  if (!report->gpu->device.empty()) return kFine;
  return unusable("canopy bench gpu: no GPU was at hand: " + report->gpu->why);
}

}  // namespace canopy::app
