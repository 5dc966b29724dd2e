/// Inspects the records of the storage slots on this machine's disks.
#include <canopy/base/figures.h>
#include <canopy/base/printable.h>
#include <canopy/base/reason.h>
#include <fmt/format.h>
#include <slots/folder.h>
#include <slots/folder_reader.h>
#include <tiers/page_record.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <ctime>
#include <filesystem>
#include <map>
#include <memory>

#include "program.h"
#include "terminal.h"

namespace canopy::app {
namespace {

using slots::Entry;
using slots::FolderReader;
using slots::Slot;

/// Returns the folders of models and ranks at `path`: those below it, or `path` itself. Throws if there is none.
std::vector<std::string> folders_at(const std::string& path) {
  std::error_code unknown;
  if (std::filesystem::exists(path + "/table", unknown)) return {path};
  auto below = slots::folders_below(path);
  if (below.empty()) slots::fail(path, "has no folder of the storage slots, such as <fingerprint>-rank-0-of-1", 0);
  return below;
}

/// Returns the first digits of "3f2a...-rank-0-of-1", which are enough for comparison.
std::string short_name(const std::string& folder) {
  const std::string name = std::filesystem::path(folder).filename().string();
  const std::size_t rank = name.find("-rank-");
  return rank == std::string::npos ? name : name.substr(0, 16) + name.substr(rank);
}

std::string age(std::uint64_t run) {
  const auto now = static_cast<double>(std::time(nullptr));
  return duration(std::max(0.0, now - static_cast<double>(slots::second_of(run))));
}

struct Namespace {
  std::uint64_t records = 0, oldest = ~std::uint64_t{0}, newest = 0;  ///< run numbers
};

/// Runs `work` on each folder. Prints an error message on stderr if folders cannot be read.
template <class Work>
int with_folders(const std::string& path, Work&& work) {
  try {
    int status = kFine;
    for (const std::string& folder : folders_at(path)) status = std::max(status, static_cast<int>(work(folder)));
    return status;
  } catch (const std::exception& error) {
    fmt::print(stderr, "canopy-slots: {}\n", printable_lines(reason_of(error)));
    return kUnusable;
  }
}

Exit list(const std::string& folder) {
  const FolderReader reader(folder);
  std::map<std::uint64_t, Namespace> spaces;
  std::uint64_t records = 0;
  reader.each([&](Slot, const Entry& entry) {
    Namespace& space = spaces[entry.space];
    ++space.records, ++records;
    space.oldest = std::min(space.oldest, entry.run);
    space.newest = std::max(space.newest, entry.run);
  });
  const std::uint64_t each = reader.head().record_bytes;
  const std::string user = slots::reserve(folder).user;
  fmt::print("{}: {} of {} in {}, {} of {}{}\n", short_name(folder), plural(records, "record"), bytes(each),
             plural(reader.head().slots, "slot"), bytes(records * each), bytes(reader.head().slots * each),
             user.empty() ? std::string() : ", used by " + user);
  if (spaces.empty()) return kFine;
  Grid grid({"namespace", "records", "bytes", "oldest", "newest"});
  for (const auto& [name, space] : spaces)
    grid.row({{name == 0 ? std::string("not known yet") : fmt::format("{:016x}", name)},
              {grouped(space.records)},
              {bytes(space.records * each)},
              {age(space.oldest)},
              {age(space.newest)}});
  grid.print(Terminal::of_stdout());
  return kFine;
}

Exit check(const std::string& folder) {
  const slots::Reserved reserved = slots::reserve(folder);
  if (!reserved.user.empty())
    slots::fail(folder, reserved.user + " writes here; a folder can only be checked while no process uses it", 0);
  FolderReader reader(folder);
  std::vector<std::byte> record(reader.head().record_bytes);
  std::uint64_t fine = 0, replaced = 0, done = 0;
  std::map<std::string, std::pair<std::uint64_t, Slot>> damaged;  ///< number of records, and the first slot
  ProgressBar progress("checking", "records");
  reader.each([&](Slot slot, const Entry& entry) {
    if (++done % 256 == 0) progress.show(static_cast<double>(slot) / static_cast<double>(reader.head().slots), done);
    const std::size_t count = reader.read(slot, record.data());
    const RecordSummary summary = read_record(std::span(record).first(count));
    const char* flaw = summary.flaw;
    if (!flaw && summary.fingerprint != reader.head().fingerprint) flaw = "it belongs to another model or layout";
    // After a crash of the machine, the table may be older than a slot. The storage also checks the key.
    if (!flaw && !(summary.key == entry.key)) ++replaced;
    else if (!flaw) ++fine;
    else ++damaged.try_emplace(flaw, 0, slot).first->second.first;
  });
  progress.clear();
  std::uint64_t bad = 0;
  for (const auto& [flaw, where] : damaged) bad += where.first;
  fmt::print("{}: {} checked, {} intact, {} damaged, {} replaced by others\n", short_name(folder),
             plural(done, "record"), grouped(fine), grouped(bad), grouped(replaced));
  for (const auto& [flaw, where] : damaged)
    fmt::print("  {}: {}, the first in slot {}\n", flaw, plural(where.first, "record"), grouped(where.second));
  return bad > 0 ? kViolations : kFine;
}

void add_commands(CLI::App& program, const PluginFolders&, int& status) {
  const auto add = [&](const char* name, const char* help, Exit (*work)(const std::string&)) {
    auto folder = std::make_shared<std::string>();
    CLI::App* command = program.add_subcommand(name, help);
    command->add_option("DIR", *folder, "the storage's `path`, or one of the folders in it")->required();
    command->callback([folder, work, &status] { status = with_folders(*folder, work); });
  };
  add("ls", "List records by namespace, with their size and age", list);
  add("check", "Read every record and compare it with its checksums; exit code 1 if one is damaged", check);
}

}  // namespace
}  // namespace canopy::app

int main(int argc, char** argv) {
  using namespace canopy::app;
  return run_program(argc, argv,
                     {"canopy-slots", "records of the storage slots on this machine's disks", add_commands, false});
}
