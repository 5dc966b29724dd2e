#include "program.h"

#include <canopy/base/file.h>
#include <canopy/base/nearest_name.h>
#include <canopy/base/printable.h>
#include <canopy/base/reason.h>
#include <cxxabi.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <memory>
#include <new>
#include <sstream>
#include <string_view>
#include <typeinfo>

#include "cli_options.h"
#include "plugin_trouble.h"
#include "reference.h"
#include "terminal.h"

namespace canopy::app {
namespace {

/// Refuses empty values. Such a value comes from a variable of a script that was never set; treated as "not given", it
/// would start a different run than was meant.
void refuse_empty_values(CLI::App& command) {
  static const CLI::Validator not_empty{
      [](std::string& text) { return text.empty() ? std::string("its value is empty") : std::string(); }, "",
      "not empty"};
  for (CLI::Option* option : command.get_options())
    if (option->get_items_expected_max() > 0) option->check(not_empty);
  for (CLI::App* each : command.get_subcommands({})) refuse_empty_values(*each);
}

/// Returns the arguments without those for plugin folders, which may stand anywhere.
std::vector<std::string> arguments_of(int argc, char** argv) {
  std::vector<std::string> given;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--plugins") ++i;  // with its folder
    else if (!std::string_view(argv[i]).starts_with("--plugins=")) given.emplace_back(argv[i]);
  }
  return given;
}

/// Returns an error message if the arguments name no command, or one that does not exist; otherwise empty.
std::string flaw_of_command(const CLI::App& program, const std::vector<std::string>& given) {
  const CLI::App* command = &program;
  std::string path = program.get_name();
  for (std::size_t i = 0; command->get_require_subcommand_min() > 0; ++i) {
    const std::string word = i < given.size() ? given[i] : std::string();
    if (word.starts_with('-')) return {};
    std::vector<std::string> names;
    const CLI::App* found = nullptr;
    for (const CLI::App* each : command->get_subcommands({})) {
      names.push_back(each->get_name());
      if (each->get_name() == word) found = each;
    }
    if (!found)
      return path + ": " + (word.empty() ? "a command is missing" : in_quotes(word) + " is no command") +
             did_you_mean(word, names);
    command = found;
    path += " " + word;
  }
  return {};
}

int run(int argc, char** argv, const Program& what) {
  // Lets `canopy plugins | head` end without an error message when its reader ends, like other programs.
  std::signal(SIGPIPE, SIG_DFL);
  // Makes write() return an error for a file that may not grow further; the error has a message.
  std::signal(SIGXFSZ, SIG_IGN);
  CLI::App program(what.about, what.name);
  program.formatter(std::make_shared<Help>());
  program.require_subcommand(1);
  program.fallthrough();  // allows --plugins anywhere on the command line
  program.get_formatter()->column_width(34);
  int status = kFine;
  PluginFolders folders;
  if (what.plugins) repeated(program.add_option("--plugins", folders, "another folder of plugins; may be repeated"));
  program.set_version_flag("--version", CANOPY_VERSION, "print the version");
  program.add_flag_callback(
      "--man", [&] { throw CLI::CallForVersion(man_page(program, CANOPY_VERSION), 0); },
      "print the man page, with all options of all commands");
  program
      .add_option_function<std::string>(
          "--completion",
          [&](const std::string& shell) { throw CLI::CallForVersion(completion_script(program, shell), 0); },
          "print the completion script of a shell")
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  what.add(program, folders, status);
  refuse_empty_values(program);
  if (argc == 1) {
    std::fputs(printable_lines(overview(program)).c_str(), stdout);
    return kFine;
  }
  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0)
      if (const std::string why = flaw_of_command(program, arguments_of(argc, argv)); !why.empty()) return unusable(why);
    std::ostringstream out, err;
    const int code = program.exit(error, out, err);
    std::fputs(printable_lines(out.str()).c_str(), stdout);
    std::fputs(printable_lines(err.str()).c_str(), stderr);
    return code == 0 ? kFine : kUnusable;
  }
  return status;
}

bool g_ended = false;

/// Ends the process with an error if a plugin calls exit(): nothing was printed, and a caller would take it for
/// success. _exit() cannot be detected.
void end_of_process() {
  if (g_ended) return;
  std::fputs("canopy: a plugin ended the process with exit(); the command was not completed\n", stderr);
  std::fflush(stdout);
  ::_exit(kViolations);
}

std::terminate_handler g_terminate = nullptr;

/// Ends the process with a sentence where the want of memory reaches no handler: in an object's destructor, before
/// main(), or because the exception itself found no memory. Needs none.
[[noreturn]] void end_without_memory() {
  const std::type_info* const thrown = abi::__cxa_current_exception_type();
  if (thrown && *thrown != typeid(std::bad_alloc)) g_terminate();
  constexpr std::string_view kWhy = "canopy: the system does not have enough memory\n";
  constexpr std::string_view kWhyNot =
      "canopy: ended without an exception, as where the system has no memory for one\n";
  const std::string_view why = thrown ? kWhy : kWhyNot;
  static_cast<void>(!::write(STDERR_FILENO, why.data(), why.size()));
  ::_exit(kUnusable);
}

/// Before the constructors of all other objects of the program.
[[gnu::constructor(101)]] void use_terminate() { g_terminate = std::set_terminate(end_without_memory); }

}  // namespace

int unusable(const std::string& why) {
  std::fputs((printable_lines(why) + "\n").c_str(), stderr);
  return kUnusable;
}

Registry load_plugins(const PluginFolders& folders) {
  Registry registry;
  registry.scan(own_plugin_folder(), Trust::as_ourselves);
  const std::size_t ours = registry.refusals().size();
  for (const std::string& folder : folders)
    if (std::error_code none; !std::filesystem::equivalent(folder, own_plugin_folder(), none))
      registry.scan(folder, Trust::strict);
  for (std::size_t i = ours; i < registry.refusals().size(); ++i)
    unusable("refused " + registry.refusals()[i].file.string() + ": " + registry.refusals()[i].why);
  return registry;
}

Result<std::monostate> check_files(const Registry& registry, std::vector<RunFile> inputs,
                                   const std::vector<RunFile>& outputs) {
  inputs.push_back({"the program", "/proc/self/exe"});
  for (const Offer& offer : registry.offers()) inputs.push_back({"the plugin", offer.file.string()});
  for (const Refusal& refusal : registry.refusals()) inputs.push_back({"the file", refusal.file.string()});
  return check_run_files(inputs, outputs);
}

int run_program(int argc, char** argv, const Program& program) {
  hold_standard_descriptors();
  std::atexit(end_of_process);
  std::at_quick_exit(end_of_process);
  name_plugins_in_trouble();
  int status = kUnusable;
  try {
    status = run(argc, argv, program);
  } catch (const std::bad_alloc& error) {  // no memory for a filtered text either
    std::fprintf(stderr, "canopy: %s\n", reason_of(error));
  } catch (const std::exception& error) {
    std::fputs(("canopy: " + printable_lines(reason_of(error)) + "\n").c_str(), stderr);
  }
  g_ended = true;
  // With a full disk or a closed pipe, the output is incomplete, so the run has not succeeded.
  if (std::fflush(stdout) != 0 || std::ferror(stdout)) {
    end_without_reader();
    std::fputs("canopy: the output could not be written\n", stderr);
    return kUnusable;
  }
  return status;
}

}  // namespace canopy::app
