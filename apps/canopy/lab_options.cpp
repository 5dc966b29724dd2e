#include <memory>

#include <workload/trace_formats.h>
#include "cli_options.h"
#include "lab_commands.h"

namespace canopy::app {
namespace {

struct SourceOptions {
  CLI::Option *trace, *workload;
};

SourceOptions add_source(CLI::App& command, LabSource& source) {
  auto* trace = command.add_option("--trace", source.trace, workload::trace_help());
  block_size(command, source.block)->needs(trace);
  auto* workload =
      command.add_option("--workload", source.workload, "workload file, such as configs/workloads/chat.yaml")
          ->excludes(trace);
  command.add_option("--seed", source.seed, "seed of the workload, instead of the one in its file")
      ->check(whole(1, kMost))
      ->needs(workload);
  return {trace, workload};
}

void add_compare(CLI::App& program, const PluginFolders& folders, int& status) {
  auto arguments = std::make_shared<CompareArguments>();
  auto* compare = program.add_subcommand(
      "compare", "Run a trace under several policies at several capacities, and compare them with the optimum");
  compare->add_option("config", arguments->config, "engine file, such as configs/engines/sglang_lru.yaml")->required();
  const auto source = add_source(*compare, arguments->source);
  auto* page = compare->add_option("--page-size", arguments->page_size, "tokens in a page");
  compare
      ->add_option(
          "--policies", arguments->policies,
          "eviction policies, separated by commas; with options as in {slru: {protect_after: 3}}; optimum: the most "
          "that any policy could reach; infinite: a cache without a limit; lru_trimmed: LRU that evicts page by page")
      ->capture_default_str();
  auto* capacities = compare->add_option("--capacities", arguments->capacities,
                                         "limits of the first group's pool in tokens, such as 1M,3M,10M; default: the "
                                         "engine file's");
  auto* memory = compare
                     ->add_option("--memory", arguments->memory,
                                  "limits as memory, such as 80GiB,160GiB; needs --model-config or --kv-bytes")
                     ->excludes(capacities);
  auto* model =
      compare
          ->add_option("--model-config", arguments->model_config,
                       "a model's config.json in Hugging Face's format, for the bytes of a token in the KV cache")
          ->needs(memory);
  compare->add_option("--kv-bytes", arguments->kv_bytes, "bytes of a token in the KV cache")
      ->check(whole(1, 1'000'000'000))
      ->needs(memory)
      ->excludes(model);
  compare->add_option("--warm-up", arguments->warm_up, "run this many requests first, without counting them")
      ->check(whole(0, kMost));
  compare
      ->add_flag("--blocks", arguments->blocks,
                 "compare blocks of the trace, including partial ones, instead of pages: faster, but coarser")
      ->needs(source.trace)
      ->excludes(page);
  compare
      ->add_option("--by", arguments->by,
                   "also print the hit rates by namespace, turn, new-tokens, answer or priority, or weighted by flops")
      ->delimiter(',')
      ->check(CLI::IsMember({"namespace", "turn", "new-tokens", "answer", "priority", "flops"}));
  compare
      ->add_option("--flop-depth", arguments->flop_depth,
                   "for hit rates weighted by FLOPs: a token at depth d costs 1 + d / this value")
      ->capture_default_str()
      ->check(CLI::Range(1.0, 1e12));
  compare->add_option("--jobs", arguments->jobs, "concurrent runs; default: the number of cores")
      ->check(whole(1, 1024));
  repeated(compare->add_option("--set", arguments->assignments,
                               "path.to.key=value: overrides a key of the engine file; may be repeated"));
  compare->add_option("--json", arguments->json, "write the rows to this file");
  compare->add_option("--report", arguments->report,
                      "write charts, savings and conclusions as one self-contained HTML page");
  compare->callback([=, &folders, &status] { status = compare_policies(*arguments, folders); });
}

void add_curve(CLI::App& program, const PluginFolders& folders, int& status) {
  auto arguments = std::make_shared<CurveArguments>();
  auto* curve =
      program.add_subcommand("curve", "Hit rate over capacity under LRU, at all capacities from one pass over a trace");
  const auto source = add_source(*curve, arguments->source);
  auto* pages = curve->add_option("--page-size", arguments->page_sizes, "tokens in a page; several: 16,64,256")
                    ->capture_default_str();
  curve->add_option("--pool", arguments->pool,
                    "your pool in tokens, such as 3M: shows its hit rate, and the gain from a larger one");
  curve->add_option("--capacities", arguments->capacities,
                    "capacities of the points, such as 1M,3M,10M; default: about 60 points");
  curve->add_option("--warm-up", arguments->warm_up, "read this many requests first, without counting them")
      ->check(whole(0, kMost));
  curve
      ->add_option(
          "--sample", arguments->sample,
          "sample this share of the pages, such as 0.01, for traces of a billion tokens; the error is reported")
      ->check(CLI::Range(1e-6, 1.0));
  curve->add_flag("--blocks", arguments->blocks, "use blocks of the trace, including partial ones, instead of pages")
      ->needs(source.trace)
      ->excludes(pages);
  curve->add_flag("!--no-replay", arguments->replay, "do not compare with replays, which evict whole nodes");
  curve->add_option("--json", arguments->json, "write the points to this file");
  curve->callback([=, &folders, &status] { status = draw_curve(*arguments, folders); });
}

}  // namespace

void add_lab(CLI::App& program, const PluginFolders& folders, int& status) {
  add_compare(program, folders, status);
  add_curve(program, folders, status);
}

}  // namespace canopy::app
