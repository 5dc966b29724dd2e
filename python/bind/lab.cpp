#include "lab.h"

#include <canopy/base/figures.h>
#include <canopy/base/nearest_name.h>
#include <canopy/engine/engine_file.h>
#include <fmt/format.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include <lab/compare.h>
#include <lab/comparison_json.h>
#include <lab/curve.h>
#include <lab/curve_json.h>
#include <workload/generator.h>
#include <workload/json_file.h>
#include <workload/trace_formats.h>

#include "configuration.h"
#include "ends.h"
#include "gil.h"
#include "registry.h"

namespace canopy::python {
namespace {

/// A trace or a workload.
struct Source {
  std::optional<std::string> trace, workload;
  std::uint64_t block = 0, seed = 0;

  std::unique_ptr<workload::RequestSource> open() const {
    return trace ? take(workload::open_trace(for_system(*trace), block))
                 : take(workload::open_generator(for_system(*workload), seed));
  }
  /// Returns the tokens of a block; 1 if the requests have tokens.
  Units block_tokens() const {
    if (!trace) return 1;
    if (block != 0) return static_cast<Units>(block);
    workload::TraceRecord record;
    take(take(workload::open_records(*trace, {}))->next(record));
    return static_cast<Units>(std::max<std::uint64_t>(record.block, 1));
  }
};

/// The policies in Python of a comparison. Each run has its own copy, made when it begins, so that nothing learned in
/// one pool is used in another.
class Copies {
 public:
  explicit Copies(Ends& ends) : ends_(ends) {}
  std::shared_ptr<EvictionStrategy> make(nb::handle original) {
    std::shared_ptr<PythonPolicy> policy;
    const WithPython gil;
    policy = std::make_shared<PythonPolicy>(nb::module_::import_("copy").attr("deepcopy")(original));
    ends_.watch(policy);  // keeps it until the comparison ends, because destroying it needs the GIL
    return policy;
  }

 private:
  Ends& ends_;
};

lab::Contender contender_of(nb::handle policy, const YamlNode& document, Copies& copies) {
  lab::Contender contender;
  YamlNode own = document;
  if (is_named(policy)) {
    contender.name = nb::isinstance<nb::str>(policy) ? nb::cast<std::string>(policy) : yaml_of(policy);
    contender.kind = lab::kind_of(contender.name);
    if (contender.kind != lab::Kind::engine) return contender;
    if (nb::isinstance<nb::str>(policy) && !registry().find(EvictionStrategy::kInterface, contender.name)) {
      std::vector<std::string> known = registry().names(EvictionStrategy::kInterface);
      for (std::string& name : lab::computed_names()) known.push_back(std::move(name));
      refuse(Error{fmt::format("compare: no policy is called {}{}", in_quotes(contender.name),
                               did_you_mean(contender.name, known))});
    }
    for (const std::string& group : groups_of(document))
      take(set_value(own, fmt::format("groups.{}.eviction={}", group, yaml_of(policy))));
  } else {
    contender.name = PythonPolicy(nb::borrow(policy)).name();
    contender.policy = [policy, &copies] { return copies.make(policy); };
  }
  contender.engine = config_of(own);
  return contender;
}

std::string text_of(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

struct Comparing {
  Source source;
  nb::object engine, changes, progress;
  nb::list policies;
  std::vector<std::uint64_t> capacities;
  std::uint64_t warm_up = 0;
  double flop_depth = 8192;
  std::uint32_t jobs = 1;
};

std::string compare_with(const Comparing& order) {
  YamlNode document = document_of(order.engine);
  set_values(document, order.changes);
  use_store(document, "none");
  const EngineConfig engine = config_of(document);
  Ends ends;
  Copies copies(ends);
  lab::CompareOptions options;
  const std::string unbounded = lab::why_no_bound(engine);
  for (const nb::handle policy : order.policies) {
    options.contenders.push_back(contender_of(policy, document, copies));
    const lab::Contender& made = options.contenders.back();
    if (made.kind != lab::Kind::engine && !unbounded.empty())
      refuse(Error{fmt::format("compare: '{}' is computed for engines of one group that keeps whole paths, but {}",
                               made.name, unbounded)});
    const auto same = [&](const lab::Contender& other) { return other.name == made.name; };
    if (std::ranges::count_if(options.contenders, same) > 1)
      refuse(Error{fmt::format("compare: {} is there twice", in_quotes(made.name))});
  }
  for (const std::uint64_t capacity : order.capacities) {
    if (capacity < engine.page_size)
      refuse(Error{fmt::format("compare: a capacity of {} does not hold one page of {} tokens",
                               plural(capacity, "token"), engine.page_size)});
    options.capacities.push_back(capacity / engine.page_size * engine.page_size);
  }
  options.warm_up = order.warm_up;
  options.flop_depth = order.flop_depth;
  options.recompute = engine.recompute;
  options.jobs = order.jobs ? order.jobs : std::max(1U, std::thread::hardware_concurrency());
  options.stopped = [&] { return ends.ended(); };

  lab::ReadOptions reading;
  reading.page_size = engine.page_size;
  reading.block = order.source.block_tokens();
  reading.codec = take(registry().make<KeyCodec>(engine.key.name, {}, engine.key.options));
  reading.stopped = [&] { return ends.must_end(); };
  const auto source = order.source.open();
  const auto start = std::chrono::steady_clock::now();
  auto comparison = [&]() -> Result<lab::Comparison> {
    const WithoutPython free;
    auto trace = lab::read_trace(*source, reading, {});
    if (!trace) return trace.error();
    if (trace->stopped) return lab::Comparison{};
    if (order.warm_up >= trace->arrivals.size())
      return Error{fmt::format("compare: the source has {}, and a warm-up of {} leaves none to count",
                               plural(trace->arrivals.size(), "request"), order.warm_up)};
    return lab::compare(*trace, registry(), options, [&](double share, std::uint64_t done) {
      ends.look();
      if (!order.progress.is_none()) ends.call([&] { order.progress(share, done); });
    });
  }();
  ends.raise();
  lab::Comparison made = take(std::move(comparison));
  made.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return text_of(lab::json_of(made));
}

std::string curve_with(const Source& from, const lab::CurveBuilder::Options& options,
                       const std::vector<std::uint64_t>& capacities, const nb::object& progress) {
  Ends ends;
  const auto source = from.open();
  lab::CurveBuilder builder(options);
  std::uint64_t count = 0;
  {
    const WithoutPython free;
    workload::ClientRequest request;
    for (; !ends.must_end(); ++count) {
      auto more = source->next(request);
      if (!more) {
        const WithPython gil;
        refuse(more.error());
      }
      if (!*more) break;
      builder.add(request);
      if (count % 64 == 63 && !progress.is_none()) ends.call([&] { progress(source->progress(), count + 1); });
    }
  }
  ends.raise();
  if (count <= options.warm_up)
    refuse(Error{fmt::format("curve: the source has {}, and a warm-up of {} leaves none to count",
                             plural(count, "request"), options.warm_up)});
  for (const std::uint64_t capacity : capacities)
    if (capacity < options.page_size)
      refuse(Error{fmt::format("curve: a capacity of {} does not hold one page of {} tokens", plural(capacity, "token"),
                               options.page_size)});
  if (const std::string flaw = builder.flaw_of_sample(); !flaw.empty()) refuse(Error{"curve: " + flaw});
  nlohmann::ordered_json json = lab::json_of(builder.curve(capacities, {}));
  json["doubts"] = source->doubts();
  return text_of(json);
}

}  // namespace

void bind_lab(nb::module_& module) {
  using namespace nb::literals;
  module.def(
      "compare",
      [](nb::object engine, nb::object changes, std::optional<std::string> trace, std::optional<std::string> workload,
         nb::list policies, std::vector<std::uint64_t> capacities, std::uint64_t warm_up, double flop_depth,
         std::uint32_t jobs, std::uint64_t block_size, std::uint64_t seed, nb::object progress) {
        return compare_with({{std::move(trace), std::move(workload), block_size, seed},
                             engine,
                             changes,
                             progress,
                             policies,
                             std::move(capacities),
                             warm_up,
                             flop_depth,
                             jobs});
      },
      nb::kw_only(), "engine"_a, "changes"_a, "trace"_a = nb::none(), "workload"_a = nb::none(), "policies"_a,
      "capacities"_a, "warm_up"_a, "flop_depth"_a, "jobs"_a, "block_size"_a, "seed"_a, "progress"_a = nb::none(),
      "canopy.compare checks and describes the arguments.");
  module.def(
      "curve",
      [](std::optional<std::string> trace, std::optional<std::string> workload, Units page_size,
         std::vector<std::uint64_t> capacities, std::uint64_t warm_up, double sample, std::uint64_t block_size,
         std::uint64_t seed, nb::object progress) {
        return curve_with({std::move(trace), std::move(workload), block_size, seed},
                          {.page_size = page_size, .blocks = false, .warm_up = warm_up, .sample = sample}, capacities,
                          progress);
      },
      nb::kw_only(), "trace"_a = nb::none(), "workload"_a = nb::none(), "page_size"_a, "capacities"_a, "warm_up"_a,
      "sample"_a, "block_size"_a, "seed"_a, "progress"_a = nb::none(),
      "canopy.curve checks and describes the arguments.");
}

}  // namespace canopy::python
