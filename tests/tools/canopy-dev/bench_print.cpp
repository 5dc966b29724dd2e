#include "bench_print.h"

#include <canopy/base/figures.h>
#include <canopy/base/printable.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "terminal.h"

namespace canopy::app {
namespace {

using bench::Demand, bench::Kind, bench::Report, bench::Row, bench::Spread;

std::string figure(double value, Kind kind) {
  switch (kind) {
    case Kind::time:
      return seconds(value);
    case Kind::share:
      return fmt::format("{:.3f}", value);
    case Kind::rate:
      return fmt::format("{:.1f} GB/s", 1e-9 * value);
    case Kind::bytes:
      break;
  }
  return fmt::format("{:.1f} B", value);
}

std::string figure(const std::optional<Spread>& spread, Kind kind) {
  return spread ? figure(spread->median, kind) : "-";
}

/// Returns the distance of the farthest repetition from the median.
std::string spread_text(const Spread& spread) {
  if (spread.median == 0) return "-";
  const double far = std::max(spread.high - spread.median, spread.median - spread.low);
  return fmt::format("{:.0f} %", 100 * far / spread.median);
}

std::string ratio(const std::optional<Spread>& over, const std::optional<Spread>& under) {
  if (!over || !under || under->median <= 0) return "-";
  const double times = over->median / under->median;
  return times < 100 ? fmt::format("{:.2f}", times) : grouped(static_cast<std::uint64_t>(std::llround(times)));
}

Grid::Cell change_cell(const Report& old, const Row& row) {
  const auto change = bench::change_since(old, row);
  if (!change) return {"new", nullptr};
  const std::string text = fmt::format("{:+.1f} %{}", 100 * change->share, change->beyond ? " !" : "");
  return {text, !change->beyond ? nullptr : change->share > 0 ? "31" : "32"};
}

std::string joined(const std::string& front, const std::string& back) {
  return front.empty() || back.empty() ? front + back : front + "; " + back;
}

/// Returns the cells of a row. `old`: may be null (nothing to compare with).
std::vector<Grid::Cell> cells(const Row& row, const Report* old) {
  std::vector<Grid::Cell> all{{row.name},
                              {figure(row.ours.median, row.kind)},
                              {spread_text(row.ours)},
                              {figure(row.floor, row.kind)},
                              {ratio(row.ours, row.floor)},
                              {figure(row.original, row.kind)},
                              {ratio(row.original, row.ours)}};
  if (old) all.push_back(change_cell(*old, row));
  all.push_back({joined(row.per, row.note), "2"});
  return all;
}

void print_rows(const Report& report, const Report* old, const Terminal& terminal) {
  std::vector<std::string> headings{"row", report.index, "+-", "floor", "x floor", "original", "x faster"};
  if (report.gpu) headings = {"row", "cuda", "+-", "best peer", "x peer", "roofline", "x cuda"};
  else if (old) headings.push_back("since then");
  headings.emplace_back();
  Grid grid(std::move(headings));
  std::string section;
  for (const Row& row : report.rows) {
    if (row.section != section) grid.section(section = row.section);
    grid.row(cells(row, old));
  }
  grid.print(terminal);
}

void print_demands(const std::vector<Demand>& demands, const Terminal& terminal) {
  constexpr struct {
    const char *word, *colour;
  } kVerdicts[] = {{"met", "32"}, {"missed", "31"}, {"not measured", nullptr}};
  fmt::print("\n");
  Grid grid({"acceptance", "verdict", ""});
  for (const Demand& demand : demands) {
    const auto& verdict = kVerdicts[static_cast<std::size_t>(demand.verdict)];
    grid.row({{fmt::format("{}: {}", demand.id, demand.demand)}, {verdict.word, verdict.colour}, {demand.measured}});
  }
  grid.print(terminal);
}

void print_gpu(const bench::Gpu& gpu, const Terminal& terminal) {
  fmt::print("{}, driver {}.{}, {} free of {}\n", printable(gpu.device), gpu.driver_version / 1000,
             gpu.driver_version % 1000 / 10, bytes(gpu.free_bytes), bytes(gpu.total_bytes));
  if (gpu.fake)
    fmt::print("{}\n",
               terminal.yellow("This is a fake device: these are not GPU figures. The run shows only that every row "
                               "executes and moves the right bytes."));
  fmt::print("\n");
}

}  // namespace

void print(const Report& report, const Report* old) {
  const Terminal terminal = Terminal::of_stdout();
  if (report.gpu) print_gpu(*report.gpu, terminal);
  print_rows(report, old, terminal);
  if (report.gpu) print_demands(report.demands, terminal);
  fmt::print("\n");
  if (report.incomplete)
    fmt::print("{}\n",
               terminal.yellow("Incomplete: the bench was stopped. Sections that are not shown were not measured."));
  for (const std::string& remark : report.remarks) fmt::print("{}\n", printable(remark));
  for (const std::string& failure : report.failures) fmt::print("{} {}\n", terminal.red("failed:"), printable(failure));
  if (report.gpu)
    fmt::print(
        "Medians; +-: the 10th or the 90th percentile. Rates on the device count bytes read and bytes written; rates "
        "across the bus count the bytes once. Roofline: "
        "the\ndriver's own copy of one large piece, in this run. Times are measured by events on the device, unless a "
        "row says otherwise. {}\nPeers that need other software (torch, other engines' kernels) are not measured "
        "here.\n",
        seconds(report.gpu->took));
  else
    fmt::print(
        "Medians; +-: the farthest repetition. Floor: only the memory traffic, comparing the words that match and "
        "copying\nthe new ones. Original: SGLang's algorithm, written plainly in C++ "
        "(tests/tools/bench/baseline_index.h). Reading the\nclock twice takes about 30 ns.\n");
  if (old) fmt::print("Since then: change of the median; !: the repetitions of the two runs do not overlap.\n");
}

}  // namespace canopy::app
