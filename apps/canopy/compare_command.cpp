#include <canopy/base/atomic_file.h>
#include <canopy/base/nearest_name.h>
#include <canopy/base/printable.h>
#include <canopy/engine/engine_file.h>
#include <canopy/eviction_strategy.h>
#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <thread>

#include <lab/compare.h>
#include <lab/comparison_json.h>
#include <lab/model_memory.h>
#include <lab/requests_csv.h>
#include <lab/spread.h>
#include <report/report.h>
#include "interrupt.h"
#include "lab_arguments.h"
#include "plugin_trouble.h"
#include "terminal.h"

namespace canopy::app {
namespace {

/// Returns the configuration of the engine's file with the changes of the command line, and this policy for every
/// group.
Result<EngineConfig> engine_of(const CompareArguments& arguments, YamlNode document, const std::string& policy,
                               const Registry& registry) {
  std::vector<std::string> all;
  if (!arguments.page_size.empty()) all.push_back("page_size=" + arguments.page_size);
  if (arguments.blocks) all.insert(all.end(), {"page_size=1", "key=token"});
  all.insert(all.end(), arguments.assignments.begin(), arguments.assignments.end());
  const YamlNode* groups = document.find("groups");
  for (std::size_t i = 0; groups && !policy.empty() && i < groups->entries.size(); ++i)
    all.push_back(fmt::format("groups.{}.eviction={}", groups->entries[i].first.scalar, policy));
  all.emplace_back("feed={off: {}}");
  for (const std::string& assignment : all)
    if (auto set = set_value(document, assignment); !set) return set.error();
  use_store(document, "none");
  return read_engine_config(document, registry);
}

/// Returns the meaning of a part of --policy. Checks names here, because this error message can also name the rows
/// that run no engine.
Result<lab::Contender> contender_of(const CompareArguments& arguments, const YamlNode& document,
                                    const std::string& policy, const Registry& registry) {
  lab::Contender contender{policy, lab::kind_of(policy)};
  if (contender.kind != lab::Kind::engine) return contender;
  const bool is_name = policy.find_first_of("{}[]:\"'") == std::string::npos;
  if (is_name && !registry.find(EvictionStrategy::kInterface, policy)) {
    std::vector<std::string> known = registry.names(EvictionStrategy::kInterface);
    for (std::string& name : lab::computed_names()) known.push_back(std::move(name));
    return Error{fmt::format("--policy: no policy is called {}{}", in_quotes(policy), did_you_mean(policy, known))};
  }
  auto engine = engine_of(arguments, document, policy, registry);
  if (!engine) return engine.error();
  contender.engine = std::move(*engine);
  return contender;
}

Result<std::vector<lab::Contender>> contenders_of(const CompareArguments& arguments, const YamlNode& document,
                                                  const EngineConfig& engine, const Registry& registry) {
  const auto policies = parts_of("--policy", arguments.policy);
  if (!policies) return policies.error();
  const std::string unbounded = lab::why_no_bound(engine);
  std::vector<lab::Contender> all;
  for (const std::string& policy : *policies) {
    for (const lab::Contender& other : all)
      if (other.name == policy) return Error{fmt::format("--policy: {} is listed twice", in_quotes(policy))};
    auto contender = contender_of(arguments, document, policy, registry);
    if (!contender) return contender.error();
    if (contender->kind != lab::Kind::engine && !unbounded.empty())
      return Error{
          fmt::format("--policy: '{}' is computed for engines of one group that keeps whole paths, but in {} {}",
                      policy, arguments.config, unbounded)};
    if (contender->kind != lab::Kind::engine && arguments.run.mode == replay::Mode::timed)
      return Error{
          fmt::format("--policy: '{}' is computed for requests one after another, and is no bound for those "
                      "that overlap; with --mode timed name policies only, such as lru,hazard",
                      policy)};
    all.push_back(std::move(*contender));
  }
  return all;
}

/// Capacities in tokens; if they were given as memory, also the bytes of a token.
struct Capacities {
  std::vector<Amount> amounts;
  std::optional<double> bytes_per_token{};
  std::string sentence{};  ///< description of what was read from the model's config
};

Result<Capacities> capacities_of(const CompareArguments& arguments, const EngineConfig& engine) {
  const std::uint64_t unit = arguments.blocks ? arguments.source.block : engine.page_size;
  Capacities capacities;
  if (!arguments.memory.empty()) {
    auto sizes = sizes_of("--memory", arguments.memory);
    if (!sizes) return sizes.error();
    double token = static_cast<double>(arguments.kv_bytes);
    if (!arguments.model_config.empty()) {
      auto model = lab::read_model_memory(arguments.model_config);
      if (!model) return model.error();
      token = model->bytes_per_token;
      capacities.sentence = model->sentence;
    } else if (arguments.kv_bytes == 0) {
      return Error{"--memory: expected the bytes of a token, from --model-config config.json or --kv-bytes N"};
    }
    capacities.bytes_per_token = token;
    for (Amount& size : *sizes) {
      size.value = static_cast<std::uint64_t>(static_cast<double>(size.value) / token);
      if (size.value < unit)
        return Error{fmt::format("--memory {}: that is {} tokens of {} bytes, less than a page of {}", size.text,
                                 size.value, token, unit)};
      capacities.amounts.push_back(size);
    }
  } else if (!arguments.capacity.empty()) {
    auto amounts = capacities_in(arguments.capacity, unit);
    if (!amounts) return amounts.error();
    capacities.amounts = std::move(*amounts);
  } else {
    const std::uint64_t own = engine.groups[0].capacity;
    if (own == kUnlimited)
      return Error{
          fmt::format("{}: its first group has no limit; give capacities with --capacity 1M,3M", arguments.config)};
    if (own < unit)
      return Error{fmt::format("{}: its first group has less than a block of {} tokens", arguments.config, unit)};
    capacities.amounts.push_back({std::to_string(own), own});
  }
  return capacities;
}

Result<lab::Trace> trace_of(const CompareArguments& arguments, const LabSource& from, const EngineConfig& engine,
                            const std::vector<lab::Contender>& contenders, const Registry& registry) {
  auto source = open_source(from, "canopy compare");
  if (!source) return source.error();
  lab::ReadOptions options;
  options.page_size = arguments.blocks ? static_cast<Units>(arguments.source.block) : engine.page_size;
  options.blocks = arguments.blocks;
  if (!arguments.source.trace.empty()) options.block = static_cast<Units>(arguments.source.block);
  options.stopped = Interrupt::came;
  options.requests = std::any_of(contenders.begin(), contenders.end(),
                                 [](const lab::Contender& contender) { return contender.kind == lab::Kind::engine; });
  if (!arguments.blocks) {
    auto codec = registry.make<KeyCodec>(engine.key.name, {}, engine.key.options);
    if (!codec) return codec.error();
    options.codec = std::move(*codec);
  }
  ProgressBar bar("reading", "requests");
  auto trace = lab::read_trace(**source, options, [&](double share, std::uint64_t count) { bar.show(share, count); });
  bar.clear();
  return trace;
}

/// Compares on the trace, or on the workload with each seed. Shares among the capacities become those of the first
/// one's distinct tokens, for all seeds. `requests` may be null. If it is stopped, returns the seeds that were
/// complete, or rows of the first.
Result<lab::Comparison> comparison_of(const CompareArguments& arguments, const std::vector<std::uint64_t>& seeds,
                                      const EngineConfig& engine, std::vector<lab::Contender> contenders,
                                      std::vector<Amount>& capacities, lab::RequestsCsv* requests,
                                      const Registry& registry) {
  lab::CompareOptions options;
  options.contenders = std::move(contenders);
  options.warm_up = arguments.warm_up;
  options.flop_depth = arguments.flop_depth;
  options.recompute = engine.recompute;
  options.keep_requests = requests != nullptr;
  options.run = arguments.run;
  options.jobs =
      arguments.jobs ? static_cast<unsigned>(arguments.jobs) : std::max(1U, std::thread::hardware_concurrency());
  options.stopped = Interrupt::came;
  options.watch = [] { return std::make_shared<HangWatch>(std::chrono::seconds(5)); };
  const Units unit = arguments.blocks ? static_cast<Units>(arguments.source.block) : engine.page_size;
  LabSource source = arguments.source;
  std::vector<lab::Comparison> all;
  for (const std::uint64_t seed : seeds) {
    source.seed = seed;
    auto trace = trace_of(arguments, source, engine, options.contenders, registry);
    if (!trace) return trace.error();
    if (trace->stopped) break;
    if (arguments.warm_up >= trace->arrivals.size())
      return Error{fmt::format("--warm-up {}: the trace has {} requests, so none would be counted", arguments.warm_up,
                               trace->arrivals.size())};
    if (options.capacities.empty()) {
      auto known = shares_of(std::move(capacities), trace->distinct_tokens(), unit);
      if (!known) return known.error();
      capacities = std::move(*known);
      for (Amount& amount : capacities) options.capacities.push_back(amount.value = amount.value / unit * unit);
    }
    ProgressBar bar(seeds.size() > 1 ? fmt::format("compare, seed {}", seed) : "compare", "requests");
    auto comparison =
        lab::compare(*trace, registry, options, [&](double share, std::uint64_t count) { bar.show(share, count); });
    bar.clear();
    if (!comparison) return comparison.error();
    if (comparison->incomplete && !all.empty()) break;
    if (!source.workload.empty()) comparison->seeds = {trace->seed};
    if (requests != nullptr) requests->add(*trace, *comparison);
    for (lab::Row& row : comparison->rows) row.request_tokens = {};
    all.push_back(std::move(*comparison));
  }
  lab::Comparison comparison;
  if (all.size() == 1) comparison = std::move(all.front());
  else if (!all.empty()) comparison = lab::merged(std::move(all));
  comparison.incomplete |= Interrupt::came();
  return comparison;
}

/// Prints before writing files: a full disk must not lose the results.
int print_and_write(const lab::Comparison& comparison, const CompareArguments& arguments, const std::string& model,
                    std::optional<lab::RequestsCsv>& requests) {
  const Terminal terminal = Terminal::of_stdout();
  const int verdict = comparison.violations > 0 || !comparison.doubts.empty() ? kViolations : kFine;
  print_whatever_happens([&] {
    if (!model.empty()) fmt::print("{} {}\n\n", terminal.bold("memory:"), printable(model));
    print(comparison, arguments.by, terminal);
  });
  if (comparison.incomplete) {
    unusable(fmt::format("canopy compare: {} stopped it{}", Interrupt::name(),
                         arguments.json.empty() && arguments.html.empty() && arguments.requests.empty()
                             ? ""
                             : "; no file was written, because it would be incomplete"));
    return exit_of(verdict, Interrupt::exit_code());
  }
  const auto not_written = [&](const Error& error) { return exit_of(verdict, unusable(error.text)); };
  if (!arguments.json.empty())
    if (auto written = lab::write_comparison(comparison, arguments.json); !written) return not_written(written.error());
  if (!arguments.html.empty())
    if (auto written = report::write_page(comparison, arguments.html); !written) return not_written(written.error());
  if (requests)
    if (auto written = requests->commit(); !written) return not_written(written.error());
  return verdict;
}

}  // namespace

int compare_policies(CompareArguments arguments, const PluginFolders& folders) {
  const Registry registry = load_plugins(folders);
  auto inputs = files_of(arguments.source);
  inputs.insert(inputs.end(), {{"the engine file", arguments.config}, {"--model-config", arguments.model_config}});
  if (auto apart =
          check_files(registry, inputs,
                      {{"--json", arguments.json}, {"--html", arguments.html}, {"--requests", arguments.requests}});
      !apart)
    return unusable(apart.error().text);
  for (const std::string& output : {arguments.json, arguments.html, arguments.requests})
    if (!output.empty())
      if (auto can = can_write_file(output); !can) return unusable(can.error().text);
  if (auto prepared = prepare(arguments.source, arguments.blocks); !prepared) return unusable(prepared.error().text);
  auto document = parse_yaml_file(arguments.config);
  if (!document) return unusable(document.error().text);
  auto engine = engine_of(arguments, *document, "", registry);
  if (!engine) return unusable(engine.error().text);
  if (const std::string why = lab::why_no_bound(*engine); arguments.blocks && !why.empty())
    return unusable(fmt::format(
        "--blocks: the pages of a block are one unit for engines of one group that keeps whole paths, but in {} {}",
        arguments.config, why));
  auto contenders = contenders_of(arguments, *document, *engine, registry);
  if (!contenders) return unusable(contenders.error().text);
  auto capacities = capacities_of(arguments, *engine);
  if (!capacities) return unusable(capacities.error().text);

  auto seeds = seeds_of(arguments.source);
  if (!seeds) return unusable(seeds.error().text);

  const Interrupt interrupt;
  const auto start = std::chrono::steady_clock::now();
  std::optional<lab::RequestsCsv> requests;
  if (!arguments.requests.empty()) {
    auto begun = lab::RequestsCsv::begin(arguments.requests);
    if (!begun) return unusable(begun.error().text);
    requests.emplace(std::move(*begun));
  }
  auto comparison = comparison_of(arguments, *seeds, *engine, std::move(*contenders), capacities->amounts,
                                  requests ? &*requests : nullptr, registry);
  if (!comparison) return unusable(comparison.error().text);
  if (comparison->rows.empty() && comparison->incomplete)
    return unusable(fmt::format("canopy compare: {} stopped it", Interrupt::name())), Interrupt::exit_code();
  comparison->config = std::filesystem::path(arguments.config).filename().string();
  comparison->source = name_of(arguments.source);
  comparison->command = command_line();
  comparison->bytes_per_token = capacities->bytes_per_token;
  for (const Amount& amount : capacities->amounts) comparison->capacity_names.push_back(amount.text);
  comparison->seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return print_and_write(*comparison, arguments, capacities->sentence, requests);
}

}  // namespace canopy::app
