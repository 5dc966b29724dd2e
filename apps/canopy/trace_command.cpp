#include "trace_command.h"

#include <canopy/base/atomic_file.h>
#include <canopy/base/figures.h>
#include <canopy/base/printable.h>
#include <canopy/base/run_files.h>
#include <fmt/format.h>
#include <report/report.h>
#include <workload/arrival_order.h>
#include <workload/formats/native_trace.h>
#include <workload/json_file.h>
#include <workload/retention.h>
#include <workload/text.h>
#include <workload/trace_formats.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>

#include "cli_options.h"
#include "commands.h"
#include "interrupt.h"
#include "terminal.h"
#include "trace_print.h"

namespace canopy::app {
namespace {

struct TraceArguments {
  std::string trace, output, page;  ///< `output`: for import the trace, for stat the JSON file; `page`: for stat, HTML
  std::uint64_t unit = 16;          ///< for stat: tokens compared at once
  workload::TraceOptions options;
};

/// The doubts and notes of a trace that was read.
struct Reading {
  Doubts doubts;
  std::vector<std::string> notes;
};

/// Reads all records, with a progress bar. Returns false if it was interrupted.
Result<bool> each_record(workload::TraceReader& reader, const char* what, Reading& reading,
                         const std::function<Result<std::monostate>(workload::TraceRecord&)>& take) {
  ProgressBar bar(what, "requests");
  workload::TraceRecord record;
  workload::ArrivalOrder order;
  workload::LongRetentions retentions;
  for (std::uint64_t requests = 0; !Interrupt::came(); ++requests) {
    auto got = reader.next(record);
    if (!got || !*got) {
      if (!got) return got.error();
      reading = {reader.doubts(), reader.notes()};
      order.add_note(reading.notes);
      retentions.add_note(reading.notes);
      return true;
    }
    order.add(record.time_ms);
    retentions.add(record.retention, record.length());
    if (auto taken = take(record); !taken) return taken.error();
    if (requests % 64 == 0) bar.show(reader.progress(), requests);
  }
  return false;
}

int interrupted(const char* what) {
  unusable(fmt::format("canopy trace: {} stopped it; {}", Interrupt::name(), what));
  return Interrupt::exit_code();
}

/// Returns an error if the outputs cannot be written beside the trace and each other.
Result<std::monostate> check_outputs(const TraceArguments& arguments, const std::vector<RunFile>& outputs) {
  const RunFile in{"the trace", workload::trace_path(arguments.trace)};
  if (auto apart = check_run_files({&in, 1}, outputs); !apart) return apart.error();
  for (const RunFile& output : outputs)
    if (!output.path.empty())
      if (auto can = can_write_file(output.path); !can) return can.error();
  return std::monostate{};
}

/// Converts a trace of any format to Canopy's own.
int import_trace(const TraceArguments& arguments) {
  if (auto can = check_outputs(arguments, {{"--output", arguments.output}}); !can) return unusable(can.error().text);
  const Interrupt interrupt;
  auto reader = workload::open_records(arguments.trace, arguments.options);
  if (!reader) return unusable(reader.error().text);
  auto file = AtomicFile::begin(arguments.output);
  if (!file) return unusable(file.error().text);
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  std::string piece;
  std::uint64_t requests = 0, prompt_tokens = 0;
  Reading reading;
  const auto done =
      each_record(**reader, "import", reading, [&](workload::TraceRecord& record) -> Result<std::monostate> {
        ++requests;
        prompt_tokens += record.length();
        piece += workload::native_line(record);
        if (piece.size() < kPiece) return std::monostate{};
        auto written = file->append(piece);
        piece.clear();
        return written;
      });
  if (!done) return unusable(done.error().text + "\nnothing was written to " + arguments.output);
  if (!*done) return interrupted("nothing was written");
  if (auto written = file->append(piece); !written) return unusable(written.error().text);
  if (auto written = file->commit(); !written) return unusable(written.error().text);
  const Terminal terminal = Terminal::of_stdout();
  fmt::print("{}  {}, {}\n", terminal.bold(printable(arguments.output)), plural(requests, "request"),
             plural(prompt_tokens, "prompt token"));
  const workload::TraceFormat& format = *workload::format_of(arguments.trace);
  fmt::print("read as {} ({})\n", format.name, format.summary);
  print_notes(reading.notes, terminal);
  return print_doubts(reading.doubts, stdout, terminal);
}

/// Shows the figures of a trace: distinct tokens, reuse, turns, sharing by depth, tenants.
int show_trace(const TraceArguments& arguments) {
  if (auto can = check_outputs(arguments, {{"--json", arguments.output}, {"--report", arguments.page}}); !can)
    return unusable(can.error().text);
  const Interrupt interrupt;
  auto reader = workload::open_records(arguments.trace, arguments.options);
  if (!reader) return unusable(reader.error().text);
  workload::TraceStat stat(arguments.unit);
  Reading reading;
  const auto done =
      each_record(**reader, "trace", reading, [&](workload::TraceRecord& record) -> Result<std::monostate> {
        stat.add(record);
        return std::monostate{};
      });
  if (!done) return unusable(done.error().text);
  if (!*done) return interrupted("the figures of a part are not shown");
  workload::TraceFacts facts = stat.facts();
  facts.doubts = std::move(reading.doubts);
  const Terminal terminal = Terminal::of_stdout();
  print_whatever_happens([&] {
    print_facts(facts, arguments.trace, terminal);
    print_notes(reading.notes, terminal);
    print_doubts(facts.doubts, stdout, terminal);
  });
  const int verdict = facts.doubts.empty() ? kFine : kViolations;
  if (!arguments.output.empty())
    if (auto written = write_json(arguments.output, workload::json_of(facts, arguments.trace)); !written)
      return exit_of(verdict, unusable(written.error().text));
  if (!arguments.page.empty())
    if (auto written = report::write_trace_page(facts, workload::trace_name(arguments.trace), arguments.page); !written)
      return exit_of(verdict, unusable(written.error().text));
  return verdict;
}

}  // namespace

void add_trace(CLI::App& program, int& status) {
  auto arguments = std::make_shared<TraceArguments>();
  auto* trace = program.add_subcommand("trace", "Import traces of requests from other formats, count what they hold");
  trace->group("Measure");
  trace->require_subcommand(1);
  auto* import = trace->add_subcommand("import", "Write a trace of any format as Canopy's own JSONL (docs/lab.md)");
  auto* stat = trace->add_subcommand("stat", "Show distinct tokens, reuse by time and by depth, turns and tenants");
  for (auto* command : {import, stat}) {
    command->add_option("trace", arguments->trace, workload::trace_help())->required();
    block_size(*command, arguments->options.block);
    command->add_option("--columns", arguments->options.columns,
                        "csv: numbers of the columns, such as time=2,id=5,size=4; default: from the heading");
    command
        ->add_option("--token-bytes", arguments->options.token_bytes,
                     "csv, oracle: sizes are in bytes, and this many are a token; default: sizes are tokens")
        ->check(whole(1, 1'000'000'000));
    command
        ->add_option("--conversations", arguments->options.conversations,
                     "sharegpt: number of conversations open at a time")
        ->capture_default_str()
        ->check(whole(1, 1'000'000));
  }
  import->add_option("--output", arguments->output, "file to write")->required();
  stat->add_option("--unit", arguments->unit, "tokens compared at once, if prompts are tokens rather than ids")
      ->capture_default_str()
      ->check(whole(1, workload::kMaxTraceBlock));
  stat->add_option("--json", arguments->output, "write the figures to this file");
  stat->add_option("--report", arguments->page, "write charts of them as one self-contained HTML page");
  import->callback([=, &status] { status = import_trace(*arguments); });
  stat->callback([=, &status] { status = show_trace(*arguments); });
}

}  // namespace canopy::app
