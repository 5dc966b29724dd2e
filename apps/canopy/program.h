#pragma once

#include <canopy/base/registry.h>
#include <canopy/base/run_files.h>

#include <string>
#include <variant>
#include <vector>

namespace CLI {
class App;
}

namespace canopy::app {

/// Exit codes, for scripts.
enum Exit : int {
  kFine = 0,
  kViolations = 1,  ///< it ran, and a check failed, or there is a doubt of its figures
  kUnusable = 2,    ///< the arguments or files cannot be used; an error message is on stderr
};

/// Returns the exit code of a run whose checks end with `verdict` and in which something else ended with `other`. A
/// violation comes first: no other failure hides it.
inline int exit_of(int verdict, int other) { return verdict == kViolations ? verdict : other; }

/// Folders of --plugins, searched after the program's own.
using PluginFolders = std::vector<std::string>;

/// Prints `why` on stderr, filtered by printable_lines(), and returns kUnusable.
int unusable(const std::string& why);
/// Loads the plugins of the program and of `folders`, and names those of `folders` that are refused on stderr.
Registry load_plugins(const PluginFolders& folders);
/// Returns an error if the run would write to a file that it reads, or write twice to the same file. Checks its outputs
/// against the named inputs and the plugins. Call it before anything is written.
Result<std::monostate> check_files(const Registry& registry, std::vector<RunFile> inputs,
                                   const std::vector<RunFile>& outputs);

/// Adds the commands of a program. Each sets `status`, the exit code.
using AddCommands = void (*)(CLI::App& program, const PluginFolders& folders, int& status);

/// A program with commands.
struct Program {
  const char *name, *about;
  AddCommands add;
  bool plugins = true;  ///< true if the commands load plugins
};

/// Runs the main function of a program with commands: parses the arguments, names plugins that end or crash the
/// process, and reports output that could not be written. Without arguments it lists the commands. Returns the exit
/// code.
int run_program(int argc, char** argv, const Program& program);

}  // namespace canopy::app
