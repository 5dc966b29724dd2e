#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "commands.h"
#include "terminal.h"
#include <canopy/support/atomic_file.h>

namespace canopy::app {
namespace {

std::string figure(double value, bench::Kind kind) {
  if (kind == bench::Kind::time) return seconds(value);
  if (kind == bench::Kind::share) return fmt::format("{:.3f}", value);
  return fmt::format("{:.1f} B", value);
}

std::string figure(const std::optional<bench::Spread>& spread, bench::Kind kind) {
  return spread ? figure(spread->median, kind) : "-";
}

/// How far the farthest repetition lies from the median.
std::string spread_text(const bench::Spread& spread) {
  if (spread.median == 0) return "-";
  const double far = std::max(spread.high - spread.median, spread.median - spread.low);
  return fmt::format("{:.0f} %", 100 * far / spread.median);
}

std::string ratio(double over, double under) {
  if (under <= 0) return "-";
  const double times = over / under;
  return times < 100 ? fmt::format("{:.2f}", times) : grouped(static_cast<std::uint64_t>(std::llround(times)));
}

Grid::Cell change_cell(const bench::Report& old, const bench::Row& row) {
  const auto change = bench::change_since(old, row);
  if (!change) return {"new", nullptr};
  const std::string text = fmt::format("{:+.1f} %{}", 100 * change->share, change->beyond ? " !" : "");
  return {text, !change->beyond ? nullptr : change->share > 0 ? "31" : "32"};
}

void print(const bench::Report& report, const bench::Report* old) {
  const Terminal terminal = Terminal::of_stdout();
  std::vector<std::string> heading{"row", report.index, "+-", "floor", "x floor", "original", "x faster"};
  if (old) heading.push_back("since then");
  heading.push_back("");
  Grid grid(std::move(heading));
  std::string section;
  for (const bench::Row& row : report.rows) {
    if (row.section != section) grid.section(section = row.section);
    std::vector<Grid::Cell> cells{{row.name},
                                  {figure(row.ours.median, row.kind)},
                                  {spread_text(row.ours)},
                                  {figure(row.floor, row.kind)},
                                  {row.floor ? ratio(row.ours.median, row.floor->median) : "-"},
                                  {figure(row.original, row.kind)},
                                  {row.original ? ratio(row.original->median, row.ours.median) : "-"}};
    if (old) cells.push_back(change_cell(*old, row));
    cells.push_back({row.per + (row.note.empty() ? "" : "; " + row.note), "2"});
    grid.row(std::move(cells));
  }
  grid.print(terminal);
  fmt::print("\n");
  for (const std::string& remark : report.remarks) fmt::print("{}\n", remark);
  fmt::print(
      "Medians; +-: the farthest repetition. Floor: comparing what matches and copying what is new, and nothing else.\n"
      "Original: its algorithm written plainly in C++ (harness/bench/baseline_index.h). A clock pair costs some 30 ns.\n");
  if (old) fmt::print("Since then: change of the median; ! where the two runs' repetitions do not overlap.\n");
}

Result<bench::Report> measured(const BenchArguments& arguments, const PluginFolders& folders) {
  if (!arguments.from.empty()) return bench::read_report(arguments.from);
  ProgressBar bar("bench", "rows");
  auto report = bench::run(arguments.options, load_plugins(folders),
                           [&](double share, std::uint64_t rows) { bar.show(share, rows); });
  bar.clear();
  if (report && arguments.options.trace.empty() && !report->source.empty())
    report->remarks.push_back("No trace was named (--trace FILE), so the replays ran a generated workload, " +
                              report->source + ".");
  return report;
}

}  // namespace

int measure(const BenchArguments& arguments, const PluginFolders& folders) {
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
  auto report = measured(arguments, folders);
  if (!report) return unusable(report.error().text);
  if (!arguments.json.empty())
    if (auto written = bench::write_report(*report, arguments.json); !written) return unusable(written.error().text);
  if (old)
    if (const auto why = bench::cannot_compare(*old, *report)) return unusable(arguments.compare + ": " + *why);
  print(*report, old ? &*old : nullptr);
  return kFine;
}

}  // namespace canopy::app
