#include <canopy/helpers/page_runs.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "pool_costs.h"
#include "processor.h"
#include "walk.h"

namespace {

using namespace canopy;
using namespace canopy::examples;

/// Returns runs of page numbers as text: "13-18 21".
std::string runs_of(std::span<const Page> pages) {
  std::string text;
  for (std::size_t i = 0; i < pages.size();) {
    const std::size_t run = pages_in_a_row(pages.data() + i, pages.size() - i);
    text += fmt::format("{}{}", text.empty() ? "" : " ", pages[i]);
    if (run > 1) text += fmt::format("-{}", pages[i + run - 1]);
    i += run;
  }
  return text;
}

void show(const WalkReport& report) {
  fmt::print("  {:<36} {:>6} {:>6}  {:<20} {:>13} {:>8}\n", "request", "tokens", "reused", "pages read",
             "to contiguous", "to fp64");
  for (const Comparison& one : report.comparisons)
    fmt::print("  {:<36} {:>6} {:>6}  {:<20} {:>13} {:>8.1e}{}\n", one.what, one.tokens, one.reused, runs_of(one.pages),
               one.to_contiguous == 0 ? "equal" : fmt::format("{:.1e}", one.to_contiguous), one.to_fp64,
               one.planted ? "  (must differ)" : "");
  fmt::print("\n  {} pages moved when the pool shrank, between B and C\n\nWhat an engine hands to other kernels\n",
             report.relocated_pages);
  for (const std::string& line : report.exports) fmt::print("  {}\n", line);
}

void show_costs(const Registry& registry, std::uint32_t turns) {
  fmt::print("One step of attention over {} tokens, K and V of 512 bytes each, cold\n\n", kReadTokens);
  fmt::print("  {:<42} {:>9} {:>9} {:>11}\n", "how a page is found", "page size", "time", "x one pool");
  for (const ReadCost& cost : read_costs(turns))
    fmt::print("  {:<42} {:>9} {:>6.2f} ms {:>11.3f}\n", cost.way, cost.page_size, cost.seconds * 1e3, cost.to_pool);
  fmt::print("\nA pool of 256 MiB becomes twice as large\n\n  {:<48} {:>11} {:>14}\n", "how", "time", "memory needed");
  for (const GrowthCost& cost : growth_costs(registry, std::uint64_t{256} << 20, turns))
    fmt::print("  {:<48} {:>8.3f} ms {:>10} MiB\n", cost.way, cost.seconds * 1e3, cost.peak_bytes >> 20);
  fmt::print("\nProcessor time, medians of {} turns in which all ways took part.\n", turns);
}

}  // namespace

/// Exit code 0: every check passed; 1: a check failed; 2: the walk could not run.
int main(int argc, char** argv) {
  CLI::App program(
      "Runs an attention kernel over the pages of requests that share a prefix, and over the same K and V\n"
      "in one piece: the outputs must be equal, bit for bit.");
  WalkOptions options;
  std::string element = "fp32";
  program.add_option("--store", options.store, "store that holds K and V")
      ->check(CLI::IsMember({"host", "cuda"}))
      ->capture_default_str();
  program.add_option("--device", options.device, "device of --store cuda, as numbered by the CUDA driver")
      ->capture_default_str();
  program.add_option("--dtype", element, "type of K and V")
      ->check(CLI::IsMember({"fp32", "bf16"}))
      ->capture_default_str();
  program.add_flag("--plant", options.plant, "give the last request a wrong page number: the program must detect it");
  std::uint32_t cost_turns = 0;
  program
      .add_option("--costs", cost_turns,
                  "instead, measure the cost of each way to make a pool elastic; 41 turns are enough")
      ->check(CLI::Range(1, 1000));
  CLI11_PARSE(program, argc, argv);
  options.element = element == "fp32" ? Element::fp32 : Element::bf16;

  Registry registry;
  registry.scan(own_plugin_folder(), Trust::as_ourselves);
  try {
    if (cost_turns > 0) return show_costs(registry, cost_turns), 0;
    const WalkReport report = walk(registry, options);
    fmt::print("Attention over the pages of the store '{}', {} rows, largest difference of an element\n\n",
               options.store, element);
    show(report);
    std::fputs("\n", stdout);
    for (const std::string& complaint : report.complaints) fmt::print("{}\n", complaint);
    if (report.complaints.empty())
      std::fputs("Attention reads the same from reused pages as from K and V in one piece.\n", stdout);
    return report.complaints.empty() ? 0 : 1;
  } catch (const ExampleError& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  }
}
