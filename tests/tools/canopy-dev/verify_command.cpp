#include <canopy/base/figures.h>
#include <canopy/base/printable.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include <verify/verify_recording.h>
#include "commands.h"
#include "terminal.h"

namespace canopy::app {
namespace {

int verify_recordings(const std::vector<std::string>& files, const PluginFolders& folders) {
  const Terminal terminal = Terminal::of_stdout();
  const Registry registry = load_plugins(folders);
  std::uint64_t operations = 0, trees = 0;
  for (const std::string& file : files) {
    const auto verdict = verify::verify_recording(file, registry);
    if (!verdict) return unusable(verdict.error().text);
    if (!verdict->difference.empty()) {
      fmt::print("{} {}\n", terminal.red("differs:"), printable_lines(verdict->difference));
      return kViolations;
    }
    operations += verdict->operations;
    trees += verdict->trees;
    fmt::print("{} {}\n", terminal.green("agrees"), printable(file));
  }
  fmt::print("{}: {} and {} compared, no difference\n", plural(files.size(), "file"), plural(operations, "operation"),
             plural(trees, "tree"));
  return kFine;
}

}  // namespace

void add_verify(CLI::App& program, const PluginFolders& folders, int& status) {
  auto files = std::make_shared<std::vector<std::string>>();
  auto* verify = program.add_subcommand(
      "verify", "Compare the index with recorded runs of SGLang's RadixCache, operation by operation");
  verify->add_option("files", *files, "POLICY_pageP_MODE_seedS.jsonl.gz; MODE is plain or eagle")->required();
  verify->callback([=, &folders, &status] { status = verify_recordings(*files, folders); });
}

}  // namespace canopy::app
