#include "lab.h"

#include <canopy/config/nearest_name.h>
#include <canopy/support/figures.h>
#include <fmt/format.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <thread>

#include <lab/compare.h>
#include <lab/curve.h>
#include <workload/generator.h>
#include <workload/trace_formats.h>

#include "columns.h"
#include "configuration.h"
#include "ends.h"
#include "registry.h"

namespace canopy::python {
namespace {

/// A trace or a workload.
struct Source {
  std::optional<std::string> trace, workload;
  std::uint64_t block = 0, seed = 0;

  std::unique_ptr<workload::RequestSource> open() const {
    return trace ? take(workload::open_trace(*trace, block)) : take(workload::open_generator(*workload, seed));
  }
  /// Tokens that a block of it has; 1: it knows tokens.
  Units block_tokens() const {
    if (block != 0 || !trace) return static_cast<Units>(block ? block : workload::kMooncakeBlock);
    workload::TraceRecord record;
    take(take(workload::open_records(*trace, {}))->next(record));
    return static_cast<Units>(std::max<std::uint64_t>(record.block, 1));
  }
};

/// Policies in Python that a comparison runs. Each run has a copy of its own, made when it begins: what one has learnt
/// in one pool it must not know in the next.
class Copies {
 public:
  explicit Copies(Ends& ends) : ends_(ends) {}
  std::shared_ptr<EvictionStrategy> make(nb::handle original) {
    std::shared_ptr<PythonPolicy> policy;
    const nb::gil_scoped_acquire gil;
    policy = std::make_shared<PythonPolicy>(nb::module_::import_("copy").attr("deepcopy")(original));
    ends_.watch(policy);  // keeps it until the comparison ends, since the GIL is needed to destroy it
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

/// A row for each row of the comparison.
nb::dict rows_of(const lab::Comparison& comparison) {
  const auto& rows = comparison.rows;
  const auto listed = [&](auto&& value_of) {
    nb::list all;
    for (const lab::Row& row : rows) all.append(value_of(row));
    return all;
  };
  nb::dict columns;
  columns["policy"] = listed([](const lab::Row& row) { return row.policy; });
  columns["capacity"] = listed([](const lab::Row& row) { return nb::cast(row.capacity_tokens); });
  columns["hit_tokens"] = column(rows, [](const lab::Row& row) { return row.hit_tokens; });
  columns["hit_rate"] = column(rows, [](const lab::Row& row) { return row.hit_rate; });
  columns["flop_hit_rate"] = column(rows, [](const lab::Row& row) { return row.flop_hit_rate; });
  columns["optimum_share"] = listed([](const lab::Row& row) { return nb::cast(row.optimum_share); });
  columns["evicted_tokens"] = listed([](const lab::Row& row) { return nb::cast(row.evicted_tokens); });
  columns["rejected"] = column(rows, [](const lab::Row& row) { return row.rejected; });
  columns["regret_tokens"] = column(rows, [](const lab::Row& row) { return row.regret.tokens; });
  columns["index_seconds"] = listed([](const lab::Row& row) { return nb::cast(row.index_seconds); });
  columns["digest"] = listed([](const lab::Row& row) { return fmt::format("{:016x}", row.digest); });
  return columns;
}

/// What each row reused of each part of the requests.
nb::dict slices_of(const lab::Comparison& comparison) {
  nb::list policy, capacity, kind, name, requests, prompt, hits, seen;
  for (const lab::Row& row : comparison.rows)
    for (const lab::Slice& slice : row.slices) {
      policy.append(row.policy), capacity.append(nb::cast(row.capacity_tokens));
      kind.append(slice.kind), name.append(slice.name), requests.append(slice.requests);
      prompt.append(slice.prompt_tokens), hits.append(slice.hit_tokens), seen.append(slice.seen_tokens);
    }
  nb::dict columns;
  columns["policy"] = policy, columns["capacity"] = capacity, columns["by"] = kind, columns["part"] = name;
  columns["requests"] = requests, columns["prompt_tokens"] = prompt;
  columns["hit_tokens"] = hits, columns["seen_tokens"] = seen;
  return columns;
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

nb::dict compare_with(const Comparing& order) {
  YamlNode document = document_of(order.engine);
  set_values(document, order.changes);
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
  options.jobs = order.jobs ? order.jobs : std::max(1U, std::thread::hardware_concurrency());
  options.stopped = [&] { return ends.ended(); };

  lab::ReadOptions reading;
  reading.page_size = engine.page_size;
  reading.block = order.source.block_tokens();
  reading.codec = take(registry().make<KeyCodec>(engine.key.name, {}, engine.key.options));
  reading.stopped = [&] { return ends.asked(); };
  const auto source = order.source.open();
  const auto start = std::chrono::steady_clock::now();
  auto comparison = [&]() -> Result<lab::Comparison> {
    const nb::gil_scoped_release free;
    auto trace = lab::read_trace(*source, reading, {});
    if (!trace) return trace.error();
    if (trace->stopped) return lab::Comparison{};
    if (order.warm_up >= trace->asked.size())
      return Error{fmt::format("compare: the source has {}, and a warm-up of {} leaves none to count",
                               plural(trace->asked.size(), "request"), order.warm_up)};
    return lab::compare(*trace, registry(), options, [&](double share, std::uint64_t done) {
      ends.look();
      if (!order.progress.is_none()) ends.call([&] { order.progress(share, done); });
    });
  }();
  ends.raise();
  const lab::Comparison made = take(std::move(comparison));
  nb::dict row;
  row["page_size"] = made.page_size;
  row["requests"] = made.requests;
  row["warm_up"] = made.warm_up;
  row["prompt_tokens"] = made.prompt_tokens;
  row["infinite_tokens"] = made.infinite_tokens;
  row["distinct_tokens"] = made.distinct_tokens;
  row["largest_request"] = made.largest_request;
  row["violations"] = made.violations;
  row["violation_reports"] = made.reports;
  row["notes"] = made.notes;
  row["seconds"] = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  row["row_columns"] = rows_of(made);
  row["slice_columns"] = slices_of(made);
  return row;
}

nb::dict curve_with(const Source& from, const lab::CurveBuilder::Options& options,
                    const std::vector<std::uint64_t>& capacities, const nb::object& progress) {
  Ends ends;
  const auto source = from.open();
  lab::CurveBuilder builder(options);
  std::uint64_t count = 0;
  {
    const nb::gil_scoped_release free;
    workload::ClientRequest request;
    for (; !ends.asked(); ++count) {
      auto more = source->next(request);
      if (!more) {
        const nb::gil_scoped_acquire gil;
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
  const lab::Curve curve = builder.curve(capacities, {});
  nb::dict row;
  row["page_size"] = curve.page_size;
  row["requests"] = curve.requests;
  row["prompt_tokens"] = curve.prompt_tokens;
  row["largest_request"] = curve.largest_request;
  row["infinite_tokens"] = curve.infinite_tokens;
  row["enough_tokens"] = curve.enough_tokens;
  row["half_tokens"] = curve.half_tokens;
  row["nine_tenths_tokens"] = curve.most_tokens;
  nb::list error, stay;
  for (const lab::CurvePoint& point : curve.points) {
    error.append(nb::cast(point.error));
    stay.append(point.stay_ms ? nb::cast(static_cast<double>(*point.stay_ms) / 1000) : nb::none());
  }
  nb::dict points;
  points["capacity"] = column(curve.points, [](const lab::CurvePoint& point) { return point.capacity_tokens; });
  points["hit_tokens"] = column(curve.points, [](const lab::CurvePoint& point) { return point.hit_tokens; });
  points["hit_rate"] = column(curve.points, [](const lab::CurvePoint& point) { return point.hit_rate; });
  points["error"] = error;
  points["stay_seconds"] = stay;
  row["point_columns"] = points;
  return row;
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
