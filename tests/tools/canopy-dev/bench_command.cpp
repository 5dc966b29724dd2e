#include <bench/bench.h>
#include <bench/gpu/gpu_bench.h>
#include <canopy/base/atomic_file.h>
#include <fmt/format.h>
#include <workload/trace_formats.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "bench_print.h"
#include "cli_options.h"
#include "commands.h"
#include "interrupt.h"
#include "terminal.h"

namespace canopy::app {
namespace {

struct BenchArguments {
  bench::Options options;
  std::string json, compare, from;
  bool list = false;
};

struct BenchGpuArguments {
  bench::gpu::Options options;
  std::string json;
};

Result<bench::Report> measured(const BenchArguments& arguments, const Registry& registry) {
  if (!arguments.from.empty()) return bench::read_report(arguments.from);
  ProgressBar bar("bench", "rows");
  bench::Options options = arguments.options;
  options.stopped = Interrupt::came;
  auto report = bench::run(options, registry, [&](double share, std::uint64_t rows) { bar.show(share, rows); });
  bar.clear();
  if (report && arguments.options.trace.empty() && !report->source.empty())
    report->remarks.push_back("No trace was given (--trace FILE), so the replays ran a generated workload, " +
                              report->source + ".");
  return report;
}

/// Prints first, so that a full disk does not lose what took minutes to measure.
int print_and_write(const bench::Report& report, const bench::Report* old, const std::string& path) {
  print_whatever_happens([&] { print(report, old); });
  if (report.incomplete) {
    unusable(fmt::format("canopy-dev bench: {} stopped it{}", Interrupt::name(),
                         path.empty() ? "" : "; no file was written, because it would be incomplete"));
    return Interrupt::exit_code();
  }
  if (path.empty()) return kFine;
  const auto written = bench::write_report(report, path);
  return written ? kFine : unusable(written.error().text);
}

/// Measures, or shows the figures of a file; with the change since another file if one is given.
int measure(const BenchArguments& arguments, const PluginFolders& folders) {
  if (arguments.list) {
    for (const std::string& name : bench::row_names(arguments.options)) fmt::print("{}\n", name);
    return kFine;
  }
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

/// Measures the store on a GPU.
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
  return report->failures.empty() ? kFine : kViolations;
}

CLI::App* add_bench_gpu(CLI::App& bench, const PluginFolders& folders, int& status) {
  auto arguments = std::make_shared<BenchGpuArguments>();
  auto* gpu =
      bench.add_subcommand("gpu",
                           "Time the GPU's store next to the device's own copies in the same run, and check its "
                           "acceptance figures. Exit code 1: wrong bytes or a failed call; 2: no GPU");
  gpu->add_option("--budget", arguments->options.budget, "seconds for all sections together")
      ->capture_default_str()
      ->check(real(1, 3600));
  gpu->add_option("--only", arguments->options.only, "run only this section, such as demotion");
  gpu->add_option("--json", arguments->json, "write the figures to this file");
  gpu->callback([=, &folders, &status] { status = measure_gpu(*arguments, folders); });
  return gpu;
}

}  // namespace

void add_bench(CLI::App& program, const PluginFolders& folders, int& status) {
  auto arguments = std::make_shared<BenchArguments>();
  auto* bench =
      program.add_subcommand("bench", "Time each hot path next to a lower bound and SGLang's algorithm, in one run");
  bench->footer("The lower bound is the memory traffic alone.");
  bench->add_flag("--quick", arguments->options.quick, "smaller trees, fewer requests and repetitions: about 15 s");
  bench->add_option("--only", arguments->options.only, "measure only rows whose name contains this");
  bench->add_flag("--list", arguments->list, "print the names of the rows instead");
  bench->add_option("--index", arguments->options.index, "index to measure")->capture_default_str();
  auto* trace = bench->add_option("--trace", arguments->options.trace,
                                  "trace to replay instead of a generated workload: " + workload::trace_help());
  block_size(*bench, arguments->options.block)->needs(trace);
  bench->add_option("--json", arguments->json, "write the figures to this file");
  bench->add_option("--compare", arguments->compare, "show the change of each row since this file of --json");
  bench->add_option("--from", arguments->from, "show the figures of this file of --json without measuring");
  auto* gpu = add_bench_gpu(*bench, folders, status);
  bench->callback([=, &folders, &status] {
    if (!gpu->parsed()) status = measure(*arguments, folders);
  });
}

}  // namespace canopy::app
