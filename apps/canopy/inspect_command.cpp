#include "inspect_command.h"

#include <account/chrome_trace.h>
#include <account/listings.h>
#include <account/range_page.h>
#include <account/time_axis.h>
#include <account/two_pasts.h>
#include <canopy/base/atomic_file.h>
#include <canopy/base/figures.h>
#include <canopy/base/printable.h>
#include <canopy/base/run_files.h>
#include <fmt/format.h>
#include <sources/recording.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <memory>
#include <string>
#include <vector>

#include "cli_options.h"
#include "listing_print.h"
#include "program.h"
#include "terminal.h"

namespace canopy::app {
namespace {

using namespace inspector;

struct InspectArguments {
  std::string file, beside, range, report, csv, trace;
};

/// A recording that was read to its end.
struct Past {
  std::unique_ptr<Recording> recording;
  Mirror mirror;  ///< state at the end of the range
  History history;
  RangeFigures range, whole;
  bool has_range = false;
  Doubts doubts{};  ///< those of the whole recording, whatever the range is
};

/// Reads a moment: a commit, a share of the time such as 20%, or seconds after the start such as 1.5s.
bool read_moment(std::string_view text, const TimeAxis& axis, std::uint64_t& commit) {
  const bool share = text.ends_with('%'), seconds = text.ends_with('s');
  const std::string_view digits = text.substr(0, text.size() - (share || seconds));
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (digits.empty() || error != std::errc() || end != digits.data() + digits.size() || !(value >= 0)) return false;
  if (share) commit = axis.commit_at(axis.first() + std::min(value, 100.0) / 100 * (axis.last() - axis.first()));
  else if (seconds) commit = axis.commit_at(value * 1e6);
  else commit = static_cast<std::uint64_t>(std::min(value, 1e15));
  return !seconds || axis.by_clock();
}

Result<CommitRange> range_of(const std::string& text, const History& history) {
  const TimeAxis axis(history);
  const std::size_t dots = text.find("..");
  const auto cannot = [&](const char* why) { return Error{fmt::format("--range {}: {}", text, why)}; };
  CommitRange range;
  if (dots == std::string::npos || !read_moment(std::string_view(text).substr(0, dots), axis, range.first) ||
      !read_moment(std::string_view(text).substr(dots + 2), axis, range.last))
    return cannot("expected A..B: two commits, shares such as 20%..30%, or seconds such as 1.5s..3s");
  range.first = std::max(range.first, history.all().first);
  range.last = std::min(range.last, history.all().last);
  if (range.empty()) return cannot("nothing of the recording is in it");
  return range;
}

/// Takes commits (`from`, `to`] in parts: a long recording is not read at once.
void take(const Recording& recording, Mirror& mirror, std::uint64_t from, std::uint64_t to, History* history) {
  constexpr std::uint64_t kPart = 4096;
  for (std::uint64_t at = from; at < to; at = std::min(at + kPart, to))
    mirror.take(recording.events(at, std::min(at + kPart, to)), history ? history->watch(mirror) : nullptr);
}

Result<std::unique_ptr<Past>> read_parts(const std::string& path, const std::string& range_text) {
  auto recording = Recording::open(path);
  if (!recording) return recording.error();
  auto past = std::unique_ptr<Past>(new Past{std::move(*recording), Mirror(FeedShape{}), {}, {}, {}});
  const Recording& file = *past->recording;
  past->mirror = Mirror(file.header());
  past->mirror.learn();
  past->history.keep_all_spans();
  take(file, past->mirror, 0, file.commits(), &past->history);
  past->history.forget_mirror();
  past->doubts = file.doubts();
  add_doubts(past->doubts, past->mirror.doubts());
  if (past->history.empty()) return Error{path + ": the recording contains no state of an engine"};
  past->whole = past->range = figures_of(past->history, {});
  if (range_text.empty()) return past;
  const auto range = range_of(range_text, past->history);
  if (!range) return range.error();
  // The history keeps steps of several commits: the range itself is read again, commit by commit as far as possible.
  past->mirror.reset();
  take(file, past->mirror, 0, range->first - 1, nullptr);
  const std::uint64_t before_us = past->mirror.us();
  History part(past->mirror);
  take(file, past->mirror, range->first - 1, range->last, &part);
  past->range = figures_of(part, {});
  if (range->first > past->history.all().first)
    past->range.first_us = before_us;  // the first operation took the time since the one before it
  past->has_range = true;
  return past;
}

/// Reads a recording, and once more the range. What was read twice must have been the same.
Result<std::unique_ptr<Past>> read(const std::string& path, const std::string& range_text) {
  auto past = read_parts(path, range_text);
  if (past) add_doubts((*past)->doubts, (*past)->recording->doubts_at_end());
  return past;
}

std::string words(const listing::Value& value) { return in_full(value, listing::Unit::count); }

void print_rows(const std::vector<TwoValues>& rows, bool has_range) {
  for (const TwoValues& row : rows)
    if (has_range) fmt::print("  {:<24} {:>16} {:>16}\n", row.name, words(row.first), words(row.second));
    else fmt::print("  {:<24} {:>16}\n", row.name, words(row.second));
}

void print_figures(const Past& past) {
  const RangeFigures &range = past.range, &whole = past.whole;
  const bool both = past.has_range;
  print_rows({{"", "range", both ? "whole time" : ""}}, both);
  print_rows(sums_beside(range, whole), both);
  fmt::print("missed tokens, by reason\n");
  print_rows(missed_beside(range, whole), both);
  fmt::print("hit rate, estimated\n");
  print_rows(estimates_beside(range, whole, past.history.page_size(), past.history.group_name(0)), both);
  fmt::print("tenants{}\n", both ? ", in the range" : "");
  std::vector<TenantFigures> tenants = tenants_by_prompts(range);
  constexpr std::size_t kMost = 12;
  const std::size_t left = tenants.size() - std::min(tenants.size(), kMost);
  tenants.resize(tenants.size() - left);
  auto list = listing::only(tenants_listing(range),
                            {"tenant", "requests", "prompt tokens", "hit", "cached", "waste", "regret"});
  list.columns.front().head = "";
  print_list(list, tenants, Terminal::of_stdout(), {20, 8, 13, 7, 11, 11, 11});
  if (left > 0) fmt::print("  and {} more\n", left);
}

/// Prints the figures of two recordings, and how they differ.
int compare(const InspectArguments& arguments) {
  const auto first = read(arguments.file, {}), second = read(arguments.beside, {});
  if (!first) return unusable(first.error().text);
  if (!second) return unusable(second.error().text);
  const RangeFigures &a = (*first)->whole, &b = (*second)->whole;
  const auto line = [](const std::string& label, const std::string& x, const std::string& y, const std::string& by) {
    fmt::print("  {:<28} {:>16} {:>16} {:>16}\n", label, x, y, by);
  };
  line("", "first", "second", "difference");
  for (const TwoValues& row : figures_of_both(a, b))
    line(row.name, words(row.first), words(row.second), words(row.apart));
  fmt::print("tenants' hit rates\n");
  for (const TwoValues& row : tenants_of_both(a, b))
    line(printable(row.name), words(row.first), words(row.second), words(row.apart));
  Doubts doubts;
  for (const auto& [path, past] : {std::pair(&arguments.file, &*first), std::pair(&arguments.beside, &*second)})
    for (const Doubt& doubt : (*past)->doubts)
      doubts.push_back({doubt.kind, doubt.count, fmt::format("{}: {}", *path, doubt.sentence)});
  return print_doubts(doubts, stdout, Terminal::of_stdout());
}

int inspect(const InspectArguments& arguments) {
  if (!arguments.beside.empty()) return compare(arguments);
  const RunFile outputs[] = {{"--report", arguments.report}, {"--trace", arguments.trace}};
  const RunFile inputs[] = {{"the recording", arguments.file}};
  if (const auto files = check_run_files(inputs, outputs); !files) return unusable(files.error().text);
  const auto past = read(arguments.file, arguments.range);
  if (!past) return unusable(past.error().text);
  const Past& found = **past;
  if (!arguments.report.empty()) {
    const std::string page =
        page_of({printable(arguments.file), found.history, found.range, found.whole, found.mirror, found.doubts});
    if (const auto done = write_file_atomically(arguments.report, page); !done) return unusable(done.error().text);
  }
  if (!arguments.trace.empty()) {
    const std::string trace =
        chrome_trace(found.history, found.has_range ? found.range.commits : CommitRange{}, found.doubts);
    if (const auto done = write_file_atomically(arguments.trace, trace); !done) return unusable(done.error().text);
  }
  if (arguments.csv.empty() && arguments.report.empty() && arguments.trace.empty()) {
    print_figures(found);
    return print_doubts(found.doubts, stdout, Terminal::of_stdout());
  }
  if (!arguments.csv.empty())
    fmt::print("{}", listing::csv_of(list_of(arguments.csv, found.history, found.range, found.mirror)));
  return print_doubts(found.doubts, stderr, Terminal::of_stderr());
}

}  // namespace

void add_inspect(CLI::App& program, int& status) {
  auto arguments = std::make_shared<InspectArguments>();
  auto* command = program.add_subcommand("inspect", "Print or export the figures of a recording, or of a range of it");
  command->group("Look");
  command->footer(
      "Waste is tokens that were computed, found by no request, and evicted; regret, tokens that were evicted and "
      "computed again (docs/inspector.md).");
  command->add_option("file", arguments->file, "recording, made with `canopy replay --record FILE`")->required();
  auto* beside = command->add_option("--beside", arguments->beside,
                                     "another recording of the same requests: print how its figures differ");
  auto* range =
      command->add_option("--range", arguments->range,
                          "A..B: two commits, shares of the time such as 20%..30%, or seconds such as 1.5s..3s");
  auto* report = command->add_option("--report", arguments->report, "write an HTML page to this file");
  auto* trace = command->add_option("--trace", arguments->trace, "write a trace for ui.perfetto.dev to this file");
  std::vector<std::string> names(list_names().begin(), list_names().end());
  auto* csv = command->add_option("--csv", arguments->csv, "print this table as CSV")->check(CLI::IsMember(names));
  for (auto* other : {range, report, trace, csv}) beside->excludes(other);
  command->callback([=, &status] { status = inspect(*arguments); });
}

}  // namespace canopy::app
