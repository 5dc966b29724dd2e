#include <canopy/base/atomic_file.h>
#include <canopy/base/figures.h>
#include <fmt/format.h>

#include <algorithm>

#include <lab/curve_json.h>
#include <workload/arrival_order.h>
#include "curve_print.h"
#include "interrupt.h"
#include "lab_arguments.h"
#include "terminal.h"

namespace canopy::app {
namespace {

struct Wanted {
  std::vector<std::uint64_t> page_sizes, capacities;  ///< capacities: the points of the curve
  std::uint64_t pool = 0;                             ///< the only capacity that was given; 0: none, or several
  std::vector<Amount> given{};                        ///< Capacities as given, until resolve().
};

Result<Wanted> wanted_of(const CompareArguments& arguments) {
  Wanted wanted;
  auto pages =
      amounts_of("--page-size", arguments.page_size.empty() ? "16" : arguments.page_size, "tokens in a page", 1, 65536);
  if (!pages) return pages.error();
  for (const Amount& page : *pages) wanted.page_sizes.push_back(page.value);
  if (arguments.blocks) wanted.page_sizes = {arguments.source.block};
  if (arguments.capacity.empty()) return wanted;
  const std::uint64_t least = *std::max_element(wanted.page_sizes.begin(), wanted.page_sizes.end());
  auto capacities = capacities_in(arguments.capacity, least);
  if (!capacities) return capacities.error();
  wanted.given = std::move(*capacities);
  return wanted;
}

/// Gives the capacities their values, shares out of the distinct tokens of the trace.
Result<std::monostate> resolve(Wanted& wanted, const lab::CurveBuilder& builder) {
  const std::uint64_t least = *std::max_element(wanted.page_sizes.begin(), wanted.page_sizes.end());
  auto capacities = shares_of(std::move(wanted.given), builder.distinct_tokens(), least);
  if (!capacities) return capacities.error();
  if (capacities->size() == 1) wanted.pool = capacities->front().value;
  else
    for (const Amount& capacity : *capacities) wanted.capacities.push_back(capacity.value);
  return std::monostate{};
}

/// Adds every request of the source to each builder, and the reading to `curves` and `sum`. Returns false if it was
/// stopped.
Result<bool> read(const CompareArguments& arguments, std::vector<lab::CurveBuilder>& builders, lab::Curves& curves,
                  lab::InputSum& sum) {
  auto source = open_source(arguments.source, "canopy compare");
  if (!source) return source.error();
  ProgressBar bar("curve", "requests");
  workload::ClientRequest request;
  workload::ArrivalOrder order;
  for (std::uint64_t count = 0;; ++count) {
    if (Interrupt::came()) return false;
    auto more = (*source)->next(request);
    if (!more) return more.error();
    if (!*more) {
      if (count <= arguments.warm_up)
        return Error{fmt::format("canopy compare: the source has {}, and --warm-up {} leaves none to count",
                                 plural(count, "request"), arguments.warm_up)};
      curves.trace_hash = sum.hash();
      curves.doubts = (*source)->doubts();
      curves.notes = (*source)->notes();
      order.add_note(curves.notes);
      return true;
    }
    sum.add(request);
    order.add(request.arrival_ms);
    for (lab::CurveBuilder& builder : builders) builder.add(request);
    if (count % 64 == 0) bar.show((*source)->progress(), count);
  }
}

/// Replays at the pool's capacity; without one, at the capacities that reuse a tenth, a half and nine tenths of all
/// reusable tokens.
Result<std::vector<lab::NodeReplay>> replays_of(const CompareArguments& arguments, const lab::InputSum& read,
                                                const Wanted& wanted, const lab::Curve& curve,
                                                const Registry& registry) {
  std::vector<std::uint64_t> capacities;
  if (wanted.pool > 0) capacities.push_back(wanted.pool);
  for (const double share : {0.1, 0.5, 0.9}) {
    if (wanted.pool > 0) break;
    for (const lab::CurvePoint& point : curve.points)
      if (static_cast<double>(point.hit_tokens) >= share * static_cast<double>(curve.infinite_tokens)) {
        if (capacities.empty() || capacities.back() != point.capacity_tokens)
          capacities.push_back(point.capacity_tokens);
        break;
      }
  }
  std::vector<lab::NodeReplay> replays;
  for (const std::uint64_t capacity : capacities) {
    if (Interrupt::came()) break;
    auto source = open_source(arguments.source, "canopy compare");
    if (!source) return source.error();
    ProgressBar bar("replay", "requests");
    auto replay = lab::replay_nodes(**source, read, {curve.page_size, capacity, arguments.warm_up, Interrupt::came},
                                    registry, [&](double share, std::uint64_t done) { bar.show(share, done); });
    if (!replay) return replay.error();
    replays.push_back(std::move(*replay));
  }
  return replays;
}

}  // namespace

int draw_curve(CompareArguments arguments, const PluginFolders& folders) {
  const Registry registry = load_plugins(folders);
  if (auto apart = check_files(registry, files_of(arguments.source), {{"--json", arguments.json}}); !apart)
    return unusable(apart.error().text);
  if (!arguments.json.empty())
    if (auto can = can_write_file(arguments.json); !can) return unusable(can.error().text);
  if (auto prepared = prepare(arguments.source, arguments.blocks); !prepared) return unusable(prepared.error().text);
  auto wanted = wanted_of(arguments);
  if (!wanted) return unusable(wanted.error().text);
  auto seeds = seeds_of(arguments.source);
  if (!seeds) return unusable(seeds.error().text);
  if (seeds->size() > 1)
    return unusable(
        fmt::format("--seeds {}: a curve is that of one seed; without --curve, canopy compare has means "
                    "and intervals of several",
                    arguments.source.seeds));
  arguments.source.seed = seeds->front();
  const Interrupt interrupt;
  const auto stopped = [&] {
    unusable(fmt::format("canopy compare: {} stopped it{}", Interrupt::name(),
                         arguments.json.empty() ? "" : "; no file was written, because it would be incomplete"));
    return Interrupt::exit_code();
  };
  std::vector<lab::CurveBuilder> builders;
  for (const std::uint64_t page : wanted->page_sizes)
    builders.emplace_back(
        lab::CurveBuilder::Options{static_cast<Units>(page), arguments.blocks, arguments.warm_up, arguments.sample});
  lab::Curves curves;
  lab::InputSum sum;
  auto whole = read(arguments, builders, curves, sum);
  if (!whole) return unusable(whole.error().text);
  if (!*whole) return stopped();
  for (const lab::CurveBuilder& builder : builders)
    if (const std::string flaw = builder.flaw_of_sample(); !flaw.empty()) return unusable("--sample: " + flaw);
  if (auto known = resolve(*wanted, builders.front()); !known) return unusable(known.error().text);

  curves.source = name_of(arguments.source);
  curves.command = command_line();
  curves.blocks = arguments.blocks;
  curves.sample = arguments.sample;
  curves.warm_up = arguments.warm_up;
  curves.pool_tokens = wanted->pool;
  std::vector<std::uint64_t> more;
  if (wanted->pool > 0) more = {wanted->pool / 2, wanted->pool, wanted->pool * 2};
  std::erase_if(more, [&](std::uint64_t capacity) { return capacity < wanted->page_sizes.front(); });
  for (const lab::CurveBuilder& builder : builders) {
    // All curves have the points of the first curve, so that page sizes stand side by side.
    std::vector<std::uint64_t> capacities = wanted->capacities;
    if (capacities.empty() && !curves.curves.empty())
      for (const lab::CurvePoint& point : curves.curves.front().points) capacities.push_back(point.capacity_tokens);
    curves.curves.push_back(builder.curve(capacities, more));
  }
  if (arguments.replay && !arguments.blocks && arguments.sample >= 1) {
    auto replays = replays_of(arguments, sum, *wanted, curves.curves.front(), registry);
    if (!replays) return unusable(replays.error().text);
    if (Interrupt::came()) return stopped();
    curves.replays = std::move(*replays);
  }
  int verdict = kFine;
  print_whatever_happens([&] { print(curves, Terminal::of_stdout()); });
  for (const lab::NodeReplay& replay : curves.replays)
    if (!replay.is_sound()) verdict = kViolations;
  if (!curves.doubts.empty()) verdict = kViolations;
  if (!arguments.json.empty())
    if (auto written = lab::write_curves(curves, arguments.json); !written)
      return exit_of(verdict, unusable(written.error().text));
  return verdict;
}

}  // namespace canopy::app
