#include <memory>

#include <workload/trace_formats.h>
#include "cli_options.h"
#include "lab_commands.h"
#include "timed_options.h"

namespace canopy::app {
namespace {

/// Adds the options of the trace or workload. Returns --trace.
CLI::Option* add_source(CLI::App& command, LabSource& source) {
  auto* trace = command.add_option("--trace", source.trace, workload::trace_help());
  block_size(command, source.block)->needs(trace);
  command.add_option("--workload", source.workload, "workload file, such as configs/workloads/chat.yaml")
      ->excludes(trace);
  command.add_option("--seeds", source.seeds,
                     "seeds of the workload, instead of the one in its file, such as 7, 1,2,3 or 1..5; of several: "
                     "means with 95 % intervals");
  return trace;
}

/// Returns why the options do not fit together, and empty if they do. `others`: those that mean nothing to a curve.
std::string flaw_of(const CompareArguments& arguments, const std::vector<CLI::Option*>& others) {
  if (!arguments.curve && arguments.config.empty())
    return "canopy compare: expected an engine file, such as configs/engines/sglang_lru.yaml; only --curve needs none";
  if (arguments.blocks && arguments.run.mode == replay::Mode::timed)
    return "--mode timed and --blocks do not fit together: a block has no time of its own";
  if (!arguments.curve && arguments.page_size.find(',') != std::string::npos)
    return "--page-size " + arguments.page_size + ": only --curve compares several";
  for (const CLI::Option* option : others)
    if (arguments.curve && option->count() > 0)
      return (option->get_positional() ? "the engine file" : option->get_name()) +
             " and --curve do not fit together: a curve is LRU's, at every capacity";
  return {};
}

}  // namespace

void add_compare(CLI::App& program, const PluginFolders& folders, int& status) {
  auto arguments = std::make_shared<CompareArguments>();
  std::vector<CLI::Option*> others;
  auto* compare = program.add_subcommand("compare", "Compare policies, capacities and the optimum on one trace");
  compare->group("Measure");
  others.push_back(
      compare->add_option("config", arguments->config, "engine file, such as configs/engines/sglang_lru.yaml"));
  auto* trace = add_source(*compare, arguments->source);
  auto* page =
      compare->add_option("--page-size", arguments->page_size, "tokens in a page; with --curve several: 16,64");
  others.push_back(compare
                       ->add_option("--policy", arguments->policy,
                                    "eviction policies, separated by commas; with options as in {slru: "
                                    "{protect_after: 3}}; optimum: the most that any policy could reach; infinite: a "
                                    "cache without a limit; lru_trimmed: LRU that evicts page by page")
                       ->capture_default_str());
  auto* capacity = compare->add_option(
      "--capacity", arguments->capacity,
      "limits of the first group's pool in tokens, such as 1.8M,3M, or as shares of the trace's distinct tokens, such "
      "as 5%,10%; default: the engine file's. With --curve the points, or one, your pool: its hit rate, and the gain "
      "from a larger one");
  auto* memory = compare
                     ->add_option("--memory", arguments->memory,
                                  "limits as memory, such as 80GiB,160GiB; needs --model-config or --kv-bytes")
                     ->excludes(capacity);
  auto* model =
      compare
          ->add_option("--model-config", arguments->model_config,
                       "a model's config.json in Hugging Face's format, for the bytes of a token in the KV cache")
          ->needs(memory);
  others.push_back(memory);
  compare->add_option("--kv-bytes", arguments->kv_bytes, "bytes of a token in the KV cache")
      ->check(whole(1, 1'000'000'000))
      ->needs(memory)
      ->excludes(model);
  compare->add_option("--warm-up", arguments->warm_up, "run this many requests first, without counting them")
      ->check(whole(0, kMost));
  compare
      ->add_flag("--blocks", arguments->blocks,
                 "compare blocks of the trace, including partial ones, instead of pages: faster, but coarser")
      ->needs(trace)
      ->excludes(page);
  others.push_back(
      compare
          ->add_option("--by", arguments->by,
                       "also print the hit rates by namespace, turn, new-tokens, answer or priority, or "
                       "weighted by flops; tenant: by namespace, with regret, the worst one and Jain's "
                       "index")
          ->delimiter(',')
          ->check(CLI::IsMember({"namespace", "tenant", "turn", "new-tokens", "answer", "priority", "flops"})));
  others.push_back(compare
                       ->add_option("--flop-depth", arguments->flop_depth,
                                    "for hit rates weighted by FLOPs: a token at depth d costs 1 + d / this value")
                       ->capture_default_str()
                       ->check(real(1, 1e12)));
  others.push_back(compare->add_option("--jobs", arguments->jobs, "concurrent runs; default: the number of cores")
                       ->check(whole(1, 1024)));
  others.push_back(repeated(compare->add_option(
      "--set", arguments->assignments, "path.to.key=value: overrides a key of the engine file; may be repeated")));
  const auto timed = add_mode(*compare, arguments->run);
  others.insert(others.end(), timed.begin(), timed.end());
  others.push_back(compare->get_option("--mode"));
  compare->add_option("--json", arguments->json, "write the rows, or the points of the curve, to this file");
  others.push_back(compare->add_option("--html", arguments->html,
                                       "write charts, savings and conclusions as one self-contained HTML page"));
  others.push_back(compare->add_option("--requests", arguments->requests,
                                       "write a row for each request of each run to this CSV file"));
  auto* curve =
      compare->add_flag("--curve", arguments->curve,
                        "show the hit rate over capacity under LRU, at all capacities from one pass over the trace");
  compare
      ->add_option(
          "--sample", arguments->sample,
          "sample this share of the pages, such as 0.01, for traces of a billion tokens; the error is reported")
      ->check(real(1e-6, 1))
      ->needs(curve);
  compare->add_flag("!--no-replay", arguments->replay, "do not compare the curve with replays, which evict whole nodes")
      ->needs(curve);
  compare->callback([=, &folders, &status] {
    std::string flaw = flaw_of(*arguments, others);
    if (flaw.empty()) flaw = flaw_of_mode(arguments->run, timed);
    if (!flaw.empty()) status = unusable(flaw);
    else status = (arguments->curve ? draw_curve : compare_policies)(*arguments, folders);
  });
}

}  // namespace canopy::app
