#include <canopy/support/figures.h>
#include <canopy/support/printable.h>
#include <fmt/format.h>

#include <algorithm>

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
  std::string late;  // a component that hung once would hang in most cases, each for the whole limit
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

/// Returns the exit code.
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

}  // namespace

int check_plugin(const std::string& file, unsigned seconds) {
  const Terminal terminal = Terminal::of_stdout();
  const auto suite = ContractSuite::find(seconds);
  std::vector<Case> cases;
  if (suite) {
    // In another process first: loading it may crash.
    auto listed = suite->cases(file);
    if (!listed) {
      fmt::print("  {} {}: {}\n", terminal.red("refused"), printable(file), printable_lines(listed.error().text));
      return kViolations;
    }
    cases = *std::move(listed);
  }
  // A user who names the file wants it run. Only files found in a searched folder have to be trusted.
  Registry registry;
  registry.add(file, Trust::as_ourselves);
  print_offers(registry, terminal);
  print_refusals(registry, terminal);
  if (registry.offers().empty()) return kViolations;
  print_note_of_searches(file, terminal);
  if (!suite)
    return unusable(
        "This build has no contract suite: only loading was checked. `cmake --build BUILD --target canopy-contract` "
        "builds it; it needs doctest.");
  for (const Offer& offer : registry.offers())
    if (std::none_of(cases.begin(), cases.end(),
                     [&](const Case& one) { return one.component == offer.name && one.interface == offer.interface; }))
      return unusable(fmt::format("The contract suite has no case for '{}', a {}: it was not checked.", offer.name,
                                  offer.interface));
  std::fflush(stdout);
  const int verdict = print_rows(run_all(*suite, file, cases), terminal);
  return registry.refusals().empty() ? verdict : kViolations;
}

}  // namespace canopy::app
