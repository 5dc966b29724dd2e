#include "replay.h"

#include <canopy/base/run_files.h>
#include <canopy/engine/engine.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <nlohmann/json.hpp>

#include <replay/replay.h>
#include <workload/generator.h>
#include <workload/trace_formats.h>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "columns.h"
#include "configuration.h"
#include "ends.h"
#include "feed_exit.h"
#include "gil.h"
#include "registry.h"

namespace canopy::python {
namespace {

/// The requests of a run and the tokens that each one found, in the order of arrival.
struct Requests {
  std::vector<std::uint64_t> arrival_ms;
  std::vector<std::uint32_t> prompt, matched, output;
  std::vector<std::int32_t> priority;
  std::vector<std::uint32_t> space;
  std::vector<std::string> spaces;
  std::unordered_map<std::string, std::uint32_t> numbers;

  void add(const workload::ClientRequest& client, std::uint32_t found) {
    const auto [at, is_new] = numbers.try_emplace(client.space, static_cast<std::uint32_t>(spaces.size()));
    if (is_new) spaces.push_back(client.space);
    arrival_ms.push_back(client.arrival_ms);
    prompt.push_back(static_cast<std::uint32_t>(client.prompt.size()));
    matched.push_back(found);
    output.push_back(client.output_tokens);
    priority.push_back(client.priority);
    space.push_back(at->second);
  }
  nb::dict columns() {
    nb::dict all;
    all["arrival_ms"] = column(std::move(arrival_ms));
    all["prompt"] = column(std::move(prompt));
    all["matched"] = column(std::move(matched));
    all["output"] = column(std::move(output));
    all["priority"] = column(std::move(priority));
    all["space"] = column(std::move(space));
    return all;
  }
};

nb::dict samples_of(const replay::Report& report) {
  nb::dict all;
  all["requests"] = column(report.samples, [](const replay::Sample& at) { return at.requests; });
  all["prompt_tokens"] = column(report.samples, [](const replay::Sample& at) { return at.prompt_tokens; });
  all["hit_tokens"] = column(report.samples, [](const replay::Sample& at) { return at.hit_tokens; });
  return all;
}

/// Returns the report as JSON, and separately the columns for which JSON would be slow.
nb::tuple row_of(const replay::Report& report, Requests requests) {
  using nlohmann::ordered_json;
  const std::string json = replay::json_of(report, true).dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  return nb::make_tuple(json, requests.spaces, requests.columns(), samples_of(report));
}

/// The arguments of canopy.replay.
struct Order {
  nb::object engine, changes, policy, progress;
  std::optional<std::string> trace, workload;
  std::uint64_t block = 0, seed = 0;  ///< block 0: the block size of the trace's format
  replay::Options options;
};

std::unique_ptr<workload::RequestSource> source_of(const Order& order) {
  if (order.trace) return take(workload::open_trace(for_system(*order.trace), order.block));
  return take(workload::open_generator(for_system(*order.workload), order.seed));
}

/// Outputs never replace inputs.
void check_files(const Order& order, const EngineConfig& config) {
  std::vector<RunFile> inputs{{"the trace", order.trace ? workload::trace_path(*order.trace) : ""},
                              {"the workload", order.workload.value_or("")},
                              {"the engine file", config.file}};
  for (const Offer& offer : registry().offers()) inputs.push_back({"the plugin", offer.file.string()});
  std::vector<RunFile> outputs;
  if (config.feed.kind == FeedConfig::Kind::file)
    outputs = {{"the recording", config.feed.name},
               {"the recording, until it is whole,", FeedSink::part_of(config.feed.name)}};
  take(check_run_files(inputs, outputs));
}

nb::tuple replay_with(Order order) {
  YamlNode document = document_of(order.engine);
  set_values(document, order.changes);
  const EngineConfig config = config_of(document);
  check_files(order, config);
  const auto source = source_of(order);
  Policy policy;
  if (!order.policy.is_none()) policy = make_policy(order.policy);
  const auto engine = take(Engine::create(config, registry()));
  remove_at_exit(config.feed);
  if (policy.strategy)
    for (std::size_t g = 0; g < engine->groups(); ++g)
      take(engine->use_policy(g, policy.strategy, policy.name));

  Requests requests;
  Ends ends;
  if (policy.in_python) ends.watch(policy.in_python);
  order.options.stopped = [&] { return ends.must_end(); };
  order.options.each = [&](const workload::ClientRequest& client, std::uint32_t matched) {
    requests.add(client, matched);
  };
  replay::Progress progress;
  if (!order.progress.is_none())
    progress = [&](double share, std::uint64_t count) { ends.call([&] { order.progress(share, count); }); };
  auto report = [&] {
    const WithoutPython free;
    return replay::run(*engine, *source, order.options, progress);
  }();
  FeedSink* const feed = engine->feed();
  const bool broken = !report || report->incomplete;
  if (feed && broken) feed->discard();
  ends.raise();
  if (!report) refuse(report.error());
  if (feed) {
    feed->finish();
    if (!feed->failure().empty()) refuse(Error{feed->failure()});
  }
  return row_of(*report, std::move(requests));
}

}  // namespace

void bind_replay(nb::module_& module) {
  using namespace nb::literals;
  module.def(
      "report_figures",
      [] {
        nb::list all;
        for (const replay::Figure& figure : replay::figures()) {
          const auto value = figure.read({});
          const char* const type = figure.unit == std::string_view("limit") ? "int | None"
                                   : value.is_number_float()                ? "float"
                                   : value.is_number()                      ? "int"
                                   : value.is_null()                        ? "float | None"
                                   : value.is_string()                      ? "str"
                                                                            : "list[dict[str, Any]]";
          all.append(nb::make_tuple(figure.name, type, figure.unit, figure.help));
        }
        return all;
      },
      "Returns name, type, unit and description of each figure of a report.");
  module.def(
      "replay",
      [](nb::object engine, nb::object changes, std::optional<std::string> trace, std::optional<std::string> workload,
         nb::object policy, bool timed, std::uint64_t block_size, std::uint64_t seed,
         std::optional<std::uint64_t> limit, bool content, std::uint32_t running, std::uint32_t prefill_tokens,
         std::uint32_t step_ms, std::uint32_t abort_permille, std::uint32_t min_uncached, bool rematch,
         nb::object progress) {
        Order order{engine, changes, policy, progress, std::move(trace), std::move(workload), block_size, seed, {}};
        order.options.mode = timed ? replay::Mode::timed : replay::Mode::serial;
        order.options.limit = limit.value_or(kUnlimited);
        order.options.content = content;
        order.options.running = running;
        order.options.prefill_tokens = prefill_tokens;
        order.options.step_ms = step_ms;
        order.options.abort_permille = abort_permille;
        order.options.min_uncached = min_uncached;
        order.options.rematch = rematch;
        order.options.failed_report = true;
        return replay_with(std::move(order));
      },
      nb::kw_only(), "engine"_a, "changes"_a = nb::none(), "trace"_a = nb::none(), "workload"_a = nb::none(),
      "policy"_a = nb::none(), "timed"_a, "block_size"_a, "seed"_a, "limit"_a = nb::none(), "content"_a, "running"_a,
      "prefill_tokens"_a, "step_ms"_a, "abort_permille"_a, "min_uncached"_a, "rematch"_a, "progress"_a = nb::none(),
      "canopy.replay checks and describes the arguments.");
}

}  // namespace canopy::python
