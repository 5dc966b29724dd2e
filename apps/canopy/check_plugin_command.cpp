#include <canopy/base/figures.h>
#include <canopy/base/file.h>
#include <canopy/base/printable.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sstream>
#include <utility>

#include "commands.h"
#include "contract_suite.h"
#include "terminal.h"

namespace canopy::app {
namespace {

using Case = ContractSuite::Case;
using Verdict = ContractSuite::Verdict;

/// The results of one component.
struct Row {
  std::string component, interface;
  std::uint64_t passed = 0, failed = 0, not_run = 0;
  std::vector<std::string> failures;
};

Row& row_of(std::vector<Row>& rows, const Case& which) {
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const Row& row) {
    return row.component == which.component && row.interface == which.interface;
  });
  if (found != rows.end()) return *found;
  rows.push_back({which.component, which.interface, 0, 0, 0, {}});
  return rows.back();
}

std::vector<Row> run_all(const ContractSuite& suite, const std::string& file, const std::vector<Case>& cases) {
  std::vector<Row> rows;
  ProgressBar progress("checking", "cases");
  std::string late;  // a component that hung once would hang in most cases, each for the whole time limit
  for (std::size_t i = 0; i < cases.size(); ++i) {
    Row& row = row_of(rows, cases[i]);
    if (late == row.interface + row.component) {
      ++row.not_run;
      continue;
    }
    ContractSuite::Answer answer = suite.check(file, cases[i]);
    ++(answer.verdict == Verdict::passed ? row.passed : row.failed);
    if (answer.verdict != Verdict::passed) row.failures.push_back(std::move(answer.why));
    if (answer.verdict == Verdict::late) late = row.interface + row.component;
    progress.show(static_cast<double>(i + 1) / static_cast<double>(cases.size()), i + 1);
  }
  return rows;
}

std::string with_later_lines_indented(std::string text) {
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 3) text.insert(at + 1, "  ");
  return text;
}

/// Prints the results. Returns the exit code.
int print_rows(const std::vector<Row>& rows, const Terminal& terminal) {
  std::size_t component = 9, interface = 9;
  for (const Row& row : rows) {
    component = std::max(component, row.component.size());
    interface = std::max(interface, row.interface.size());
  }
  fmt::print("\n  {}\n", terminal.dim(fmt::format("{:<{}}  {:<{}}  passed  failed", "component", component, "interface",
                                                  interface)));
  Row all;
  for (const Row& row : rows) {
    const std::string failed = fmt::format("{:>6}", row.failed);
    fmt::print("  {}  {:<{}}  {:>6}  {}{}\n", terminal.bold(fmt::format("{:<{}}", row.component, component)),
               printable(row.interface), interface, row.passed, row.failed == 0 ? failed : terminal.red(failed),
               row.not_run == 0 ? "" : fmt::format("  {} not run after a case that did not finish", row.not_run));
    all.passed += row.passed, all.failed += row.failed, all.not_run += row.not_run;
  }
  fmt::print("\n");
  for (const Row& row : rows)
    for (const std::string& failure : row.failures)
      fmt::print("{} {}\n\n", terminal.red(row.component), with_later_lines_indented(printable_lines(failure)));
  const std::string total = plural(all.passed + all.failed, "case") + " of the contract";
  if (all.failed == 0) fmt::print("{}\n", terminal.green(total + ", all passed"));
  else
    fmt::print("{}\n", terminal.red(fmt::format("{}, {} failed{}", total, all.failed,
                                                all.not_run ? fmt::format(", {} not run", all.not_run) : "")));
  return all.failed == 0 ? kFine : kViolations;
}

void print_note_of_searches(const std::string& file, const Terminal& terminal) {
  Registry searched;
  searched.scan(own_plugin_folder(), Trust::as_ourselves);
  const std::size_t ours = searched.refusals().size();
  searched.add(file, Trust::strict);
  for (std::size_t i = ours; i < searched.refusals().size(); ++i)
    fmt::print("  {} --plugins would refuse it at this place: {}\n", terminal.bold("note:"),
               searched.refusals()[i].why);
}

/// Result of loading a file in its own process.
struct Loaded {
  std::vector<std::pair<std::string, std::string>> offers;  ///< interface and name
  bool refused = false;                                     ///< true if the file or one of its components was refused
};

/// Loads a file in its own process, which prints the offered components. An error is the rest of a sentence that begins
/// with the file's name: the process did not end normally.
Result<Loaded> load_apart(const std::string& file, unsigned seconds, const Terminal& terminal) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return Error{std::string("it cannot be loaded in its own process: ") + std::strerror(errno)};
  const UniqueFd answers(ends[0]);
  UniqueFd answer(ends[1]);
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child < 0) return Error{std::string("it cannot be loaded in its own process: ") + std::strerror(errno)};
  if (child == 0) {
    ::alarm(seconds);
    // The user named the file and so wants it to run. Only files found in a searched folder have to be trusted.
    Registry registry;
    registry.add(file, Trust::as_ourselves);
    print_offers(registry, terminal);
    print_refusals(registry, terminal);
    if (!registry.offers().empty()) print_note_of_searches(file, terminal);
    std::fflush(stdout);
    std::string text;
    for (const Offer& offer : registry.offers()) text += offer.interface + "\t" + offer.name + "\n";
    text += registry.refusals().empty() ? "all\t\n" : "some\t\n";
    for (std::size_t done = 0; done < text.size();) {
      const ssize_t wrote = ::write(answer.get(), text.data() + done, text.size() - done);
      if (wrote <= 0) ::_exit(kUnusable);
      done += static_cast<std::size_t>(wrote);
    }
    ::_exit(kFine);
  }
  answer.reset();
  std::string text;
  char some[4096];
  for (ssize_t count; (count = ::read(answers.get(), some, sizeof(some))) != 0;)
    if (count > 0) text.append(some, static_cast<std::size_t>(count));
    else if (errno != EINTR) break;
  int status = 0;
  ::waitpid(child, &status, 0);
  Loaded loaded;
  std::istringstream lines(text);
  for (std::string interface, name; std::getline(lines, interface, '\t') && std::getline(lines, name);)
    loaded.offers.emplace_back(interface, name);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != kFine || loaded.offers.empty())
    return Error{how_loading_ended(status, seconds)};
  loaded.refused = loaded.offers.back().first != "all";
  loaded.offers.pop_back();
  return loaded;
}

}  // namespace

int check_plugin(const std::string& file, unsigned seconds) {
  const Terminal terminal = Terminal::of_stdout();
  const auto suite = ContractSuite::find(seconds);
  const auto loaded = load_apart(file, seconds, terminal);
  const auto cases = loaded && suite ? suite->cases(file) : std::vector<Case>();
  if (!loaded || !cases) {
    fmt::print("  {} {}: {}\n", terminal.red("refused"), printable(file),
               printable_lines((loaded ? cases.error() : loaded.error()).text));
    return kViolations;
  }
  if (loaded->offers.empty()) return kViolations;
  if (!suite)
    return unusable(
        "This build has no contract suite: only loading was checked. `cmake --build BUILD --target canopy-contract` "
        "builds it; it needs doctest.");
  for (const auto& offer : loaded->offers)
    if (std::none_of(cases->begin(), cases->end(),
                     [&](const Case& one) { return one.component == offer.second && one.interface == offer.first; }))
      return unusable(fmt::format("The contract suite has no case for '{}', a {}: it was not checked.",
                                  printable(offer.second), printable(offer.first)));
  std::fflush(stdout);
  const int verdict = print_rows(run_all(*suite, file, *cases), terminal);
  return loaded->refused ? kViolations : verdict;
}

}  // namespace canopy::app
