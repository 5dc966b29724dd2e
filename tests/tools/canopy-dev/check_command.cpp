#include <canopy/base/atomic_file.h>
#include <canopy/base/figures.h>
#include <canopy/base/run_files.h>
#include <canopy/engine/engine_file.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include <check/campaign.h>
#include <check/faulty.h>
#include "cli_options.h"
#include "commands.h"
#include "interrupt.h"
#include "terminal.h"

namespace canopy::app {
namespace {

struct CheckArguments {
  check::Options options;
  std::vector<std::string> configs;
  std::string replay;
  std::uint64_t minutes = 0;
  bool undrawn = false;
};

std::string in_words(const check::Verdict& verdict, std::uint64_t operations) {
  return verdict.operation > operations ? "at the end: " + verdict.sentence
                                        : fmt::format("operation {}: {}", grouped(verdict.operation), verdict.sentence);
}

/// Runs a program that an earlier check found.
int repeat(const std::string& file, const Registry& registry, const Terminal& terminal) {
  const auto program = check::read_program(file, registry);
  if (!program) return unusable(program.error().text);
  const check::Verdict verdict = check::run_apart([&] { return check::run_here(*program, registry); }, 600, false);
  if (verdict.kind == check::Verdict::Kind::unusable) return unusable(verdict.sentence);
  const std::string operations = plural(program->operations.size(), "operation");
  if (verdict.kind == check::Verdict::Kind::clean) {
    fmt::print("{}\n", terminal.green(operations + ", no violation"));
    return kFine;
  }
  fmt::print("{} {}\n", terminal.red("violation:"), in_words(verdict, program->operations.size()));
  return kViolations;
}

void print_reached(const check::Summary& summary, const Terminal& terminal) {
  const check::Reached& reached = summary.reached;
  Table table;
  table.row("operations",
            fmt::format("{} on {}, {} in {}: {} a second", grouped(reached.operations),
                        plural(summary.episodes, "engine"), plural(reached.audits, "audit"), seconds(summary.seconds),
                        grouped(static_cast<std::uint64_t>(static_cast<double>(reached.operations) /
                                                           std::max(summary.seconds, 1e-3)))));
  table.row("requests", fmt::format("{}, {} found a prefix, {} finished, {} aborted, {} retracted",
                                    grouped(reached.requests), grouped(reached.hits), grouped(reached.finished),
                                    grouped(reached.aborted), grouped(reached.retracted)));
  table.row(
      "pages",
      fmt::format("{}, {} refused, {} kept what admission promised, {} re-pointed, {} taken over, {} passed by windows",
                  plural(reached.evictions, "eviction"), plural(reached.refused, "reservation"),
                  grouped(reached.promises), plural(reached.repointed, "token"), grouped(reached.rematched),
                  plural(reached.passed_pages, "page")));
  if (reached.fetched > 0) table.row("tiers", plural(reached.fetched, "token") + " fetched from below");
  table.row("limits", fmt::format("{}, {} at once, {} had to wait; {} pinned", plural(reached.resized, "new limit"),
                                  grouped(reached.drained), grouped(reached.blocked), plural(reached.pinned, "node")));
  table.row("faults",
            fmt::format("{} in components, {} noticed, {} refused; {} and {} of the process; {} left before the end, "
                        "with as many refusals as are written down",
                        plural(reached.faults, "fault"), plural(reached.lies, "lie"),
                        plural(reached.scarce, "allocation"), plural(reached.reopened, "next engine"),
                        plural(reached.forks, "fork"), plural(reached.unproved, "engine")));
  table.print(terminal);
}

/// Prints which triples of settings were drawn, and which are refused. `all`: prints all that were not.
void print_draw(const check::Draw& draw, bool all) {
  constexpr std::size_t kShown = 3;
  const std::vector<std::string> undrawn = draw.undrawn();
  const std::uint64_t wanted = draw.triples() - draw.excluded();
  fmt::print("{} of {} triples of settings drawn; {} more that the engine refuses:\n", grouped(wanted - undrawn.size()),
             grouped(wanted), grouped(draw.excluded()));
  std::map<std::string, std::vector<std::string>> by_reason;
  for (const check::Refused& refused : draw.refused())
    if (!refused.why.empty())
      by_reason[refused.why.substr(refused.why.find(": ") + 2)].push_back(draw.text_of(refused));
  for (const auto& [why, combinations] : by_reason) {
    fmt::print("  {}\n", why);
    for (std::size_t i = 0; i < combinations.size() && (all || i < kShown); ++i)
      fmt::print("    {}\n", combinations[i]);
    if (!all && combinations.size() > kShown) fmt::print("    and {} more\n", combinations.size() - kShown);
  }
  if (undrawn.empty()) return;
  fmt::print("not drawn:\n");
  for (std::size_t i = 0; i < undrawn.size() && (all || i < kShown); ++i) fmt::print("  {}\n", undrawn[i]);
  if (!all && undrawn.size() > kShown)
    fmt::print("  and {} more; --undrawn prints all\n", grouped(undrawn.size() - kShown));
}

constexpr const char* kFirstWords = "canopy-dev check --replay ";

/// Returns the reason why a failure cannot be written to `file`; empty if it can. Only files of canopy-dev check are
/// replaced.
std::string why_not(const std::string& file) {
  namespace fs = std::filesystem;
  std::error_code none;
  if (fs::exists(file, none)) {
    std::string first;
    if (fs::is_regular_file(file, none)) std::getline(std::ifstream(file) >> std::ws, first);
    if (!first.starts_with(std::string("# ") + kFirstWords))
      return fmt::format("{} exists, and canopy-dev check did not write it: a failure would replace it", file);
  }
  const auto can = can_write_file(file);
  return can ? std::string() : can.error().text;
}

/// Returns the lines of a check file before its engine.
std::vector<std::string> about(const check::Failure& failure, const CheckArguments& arguments,
                               const std::string& file) {
  std::vector<std::string> lines{
      kFirstWords + file, fmt::format("found by seed {} in episode {}", arguments.options.seed, failure.episode)};
  std::string sentence = in_words(failure.verdict, failure.program.operations.size());
  for (char& c : sentence)
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  lines.push_back(sentence);
  return lines;
}

int check_engines(const CheckArguments& arguments, const PluginFolders& folders) {
  Registry registry = load_plugins(folders);
  check::add_faulty(registry);
  const Terminal terminal = Terminal::of_stdout();
  if (!arguments.replay.empty()) return repeat(arguments.replay, registry, terminal);
  check::Options options = arguments.options;
  for (const std::string& file : arguments.configs) {
    auto config = load_engine_config(file, {}, registry);
    if (!config) return unusable(config.error().text);
    options.engines.push_back(std::move(*config));
  }
  options.seconds = static_cast<double>(arguments.minutes) * 60;
  if (options.operations == 0 && arguments.minutes == 0) options.operations = 1'000'000;
  if (options.goes_on) options.shrink_seconds = 5;
  if (options.jobs == 0) options.jobs = std::max(1U, std::thread::hardware_concurrency());
  const std::string file = fmt::format("canopy-check-{}.txt", options.seed);
  if (const std::string why = why_not(file); !why.empty()) return unusable(why);
  std::vector<RunFile> inputs;
  for (const std::string& config : arguments.configs) inputs.push_back({"--config", config});
  const RunFile output{"what a failure is written to", file};
  if (auto apart = check_run_files(inputs, {&output, 1}); !apart) return unusable(apart.error().text);
  const Interrupt interrupt;
  options.stopped = &Interrupt::came;

  ProgressBar bar("check", "operations");
  const auto summary =
      check::run(options, registry, [&](double share, std::uint64_t count) { bar.show(share, count); });
  bar.clear();
  if (!summary) return unusable(summary.error().text);
  print_reached(*summary, terminal);
  if (summary->draw) print_draw(*summary->draw, arguments.undrawn);
  if (summary->failures.empty()) {
    fmt::print("{}\n",
               terminal.green(fmt::format("{}no violation, seed {}, digest {:016x}",
                                          summary->stopped ? "stopped: " : "", options.seed, summary->reached.digest)));
    return summary->stopped ? Interrupt::exit_code() : kFine;
  }
  for (const check::Failure& failure : summary->failures) {
    const std::string to =
        options.goes_on ? fmt::format("canopy-check-{}-{}.txt", options.seed, failure.episode) : file;
    fmt::print("{} {}{}\n", terminal.red("violation:"), in_words(failure.found, failure.operations),
               failure.repeats ? "" : "; the same operations were clean in a second run");
    fmt::print("found after {}, in {}\n", seconds(failure.seconds), plural(failure.count, "engine"));
    const auto written = write_file_atomically(to, check::text_of(failure.program, about(failure, arguments, to)));
    if (!written) {
      fmt::print(stderr, "{}\n", written.error().text);
      return kViolations;
    }
    fmt::print("{}: {} of {}; canopy-dev check --replay {} runs {} again\n", to,
               plural(failure.program.operations.size(), "operation"), grouped(failure.operations), to,
               failure.repeats ? "it" : "them");
  }
  return kViolations;
}

}  // namespace

void add_check(CLI::App& program, const PluginFolders& folders, int& status) {
  auto arguments = std::make_shared<CheckArguments>();
  arguments->options.jobs = 0;
  auto* check = program.add_subcommand("check", "Run engines under random requests and injected faults");
  check->footer(
      "Checks the ledger, the audit, every reused byte, promises and figures. Engines are drawn so that soon every "
      "triple "
      "of settings was in one of them. A failure is shrunk to a few operations in canopy-check-SEED.txt. Exit code 0: "
      "clean; 1: a violation; 2: bad input.");
  repeated(check->add_option("--config", arguments->configs,
                             "engine file, run with small pools; may be repeated. Default: engines drawn from the "
                             "registry and the seed"));
  check->add_option("--seed", arguments->options.seed, "determines engines, requests and faults")
      ->capture_default_str()
      ->check(whole(1, kMost));
  check
      ->add_option("--ops", arguments->options.operations,
                   "operations of all engines together; default without --minutes: 1000000")
      ->check(whole(1, kMost));
  check->add_option("--minutes", arguments->minutes, "end after this many minutes")->check(whole(1, 100000));
  check->add_option("--jobs", arguments->options.jobs, "number of processes; default: one for each core")
      ->check(whole(1, 256));
  check->add_flag("--go-on", arguments->options.goes_on,
                  "do not end at a failure: report each kind once, in canopy-check-SEED-ENGINE.txt");
  check->add_flag("--undrawn", arguments->undrawn, "print all triples of settings that were not drawn");
  check->add_option("--replay", arguments->replay, "repeat the operations of this file instead");
  check->callback([=, &folders, &status] { status = check_engines(*arguments, folders); });
}

}  // namespace canopy::app
