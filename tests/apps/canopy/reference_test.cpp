/// The texts of the programs about themselves: the overview, completion and the man page.
#include <doctest/doctest.h>

#include <algorithm>
#include <regex>
#include <set>

#include "program.h"

using namespace cli;

namespace {

/// Returns the long options in a command's help.
std::set<std::string> options_of(const Workshop& workshop, const std::string& command) {
  const std::string help = run_canopy(workshop, command + " --help").out;
  const std::regex option("\n  (?:-\\w,)?(--[a-z-]+)");
  std::set<std::string> options;
  for (std::sregex_iterator at(help.begin(), help.end(), option), end; at != end; ++at) options.insert((*at)[1]);
  options.erase("--help");
  return options;
}

const char* const kCommands[] = {
    "demo",        "replay",          "compare",       "trace import",     "trace stat",    "top",
    "export",      "serve",           "events decode", "events stat",      "events attach", "config check",
    "config dump", "config describe", "plugins list",  "plugins describe", "plugins check", "plugins new"};

/// Returns true if the shell or program is on this machine; otherwise says that its check is skipped.
bool is_here(const std::string& program) {
  if (std::system(("command -v " + program + " >/dev/null 2>&1").c_str()) == 0) return true;
  MESSAGE("SKIPPED: ", program, " is not on this machine");
  return false;
}

/// Returns the words that bash completes the last word to, sorted.
std::vector<std::string> completed(const Workshop& workshop, const std::string& words) {
  const std::string script = workshop.file(
      "complete.bash", "source " + (workshop.path / "canopy.bash").string() + "\nCOMP_WORDS=(" + words +
                           ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_canopy\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n");
  const fs::path out = workshop.path / "completed";
  REQUIRE(std::system(("bash " + script + " >" + out.string()).c_str()) == 0);
  std::vector<std::string> lines;
  std::ifstream file(out);
  for (std::string line; std::getline(file, line);)
    if (!line.empty()) lines.push_back(line);
  std::sort(lines.begin(), lines.end());
  return lines;
}

using Words = std::vector<std::string>;

}  // namespace

TEST_CASE("canopy alone lists its commands in groups, a line each") {
  const Workshop workshop;
  const Ended alone = run_canopy(workshop, "");
  CHECK(alone.status == 0);
  CHECK(alone.out == run_canopy(workshop, "--help").out);
  const std::vector<const char*> begins = {"Try      demo ",     "\n         replay ",  "\nMeasure  compare ",
                                           "\n         trace ",  "\nLook     top ",     "\n         export ",
                                           "\n         serve ",  "\n         inspect ", "\n         events ",
                                           "\nCompose  config ", "\n         plugins "};
  for (const char* begin : begins) CHECK_MESSAGE(has(alone.out, begin), begin);
  CHECK(std::count(alone.out.begin(), alone.out.end(), '\n') == static_cast<std::ptrdiff_t>(begins.size()) + 1);
  CHECK(run_canopy(workshop, "--completion tcsh").status == 2);
}

TEST_CASE("bash completes commands, options and the values of options") {
  const Workshop workshop;
  const std::string script = workshop.file("canopy.bash", run_canopy(workshop, "--completion bash").out);
  REQUIRE(std::system(("bash -n " + script).c_str()) == 0);
  CHECK(completed(workshop, "canopy re") == Words{"replay"});
  CHECK(completed(workshop, "canopy trace ''") == Words{"import", "stat"});
  CHECK(completed(workshop, "canopy replay --mode ''") == Words{"serial", "timed"});
  CHECK(completed(workshop, "canopy export --names s") == Words{"sglang"});
  CHECK(completed(workshop, "canopy compare engine.yaml --h") == Words{"--help", "--html"});
  // Files are for bash itself to complete: the engine's file, and the value of an option.
  CHECK(completed(workshop, "canopy replay ''").empty());
  CHECK(completed(workshop, "canopy replay --trace --").empty());
  for (const std::string command : kCommands) {
    CAPTURE(command);
    const Words words = completed(workshop, "canopy " + command + " --");
    std::set<std::string> options(words.begin(), words.end());
    CHECK(options.erase("--help") == 1);
    CHECK(options == options_of(workshop, command));
  }
}

TEST_CASE("the man page has every option of every command") {
  const Workshop workshop;
  const std::string page = run_canopy(workshop, "--man").out;
  CHECK(page.starts_with(".TH canopy 1 "));
  std::size_t count = 0;
  for (std::string command : kCommands) {
    CAPTURE(command);
    const std::size_t begin = page.find("\n.SS canopy " + command), end = page.find("\n.S", begin + 1);
    REQUIRE(begin != std::string::npos);
    const std::string section = page.substr(begin, end - begin);
    for (const std::string& option : options_of(workshop, command)) {
      CHECK_MESSAGE(has(section, "\\fB" + std::regex_replace(option, std::regex("-"), "\\-") + "\\fR"), option);
      ++count;
    }
  }
  CHECK(count > 80);
}

TEST_CASE("the completion of zsh and fish has every option") {
  const Workshop workshop;
  const std::string zsh = run_canopy(workshop, "--completion zsh").out,
                    fish = run_canopy(workshop, "--completion fish").out;
  CHECK(zsh.starts_with("#compdef canopy\n"));
  for (const std::string command : kCommands)
    for (const std::string& option : options_of(workshop, command)) {
      CAPTURE(command);
      CHECK_MESSAGE(has(zsh, "'" + option + ":"), option);
      CHECK_MESSAGE(has(fish, "'canopy " + command + "'\" -l " + option.substr(2) + " "), option);
    }
}

TEST_CASE("groff reads the man page without a warning") {
  if (!is_here("groff")) return;
  const Workshop workshop;
  const std::string file = workshop.file("canopy.1", run_canopy(workshop, "--man").out);
  const fs::path flaws = workshop.path / "flaws";
  CHECK(std::system(("groff -man -ww -Tascii " + file + " >/dev/null 2>" + flaws.string()).c_str()) == 0);
  CHECK_MESSAGE(slurp(flaws).empty(), slurp(flaws));
}

TEST_CASE("mandoc reads the man page without an error") {
  if (!is_here("mandoc")) return;
  const Workshop workshop;
  const std::string file = workshop.file("canopy.1", run_canopy(workshop, "--man").out);
  CHECK(std::system(("mandoc -T lint -W error " + file + " >/dev/null").c_str()) == 0);
}

TEST_CASE("zsh parses its completion script") {
  if (!is_here("zsh")) return;
  const Workshop workshop;
  const std::string script = workshop.file("script", run_canopy(workshop, "--completion zsh").out);
  CHECK(std::system(("zsh -n " + script).c_str()) == 0);
}

TEST_CASE("fish parses its completion script") {
  if (!is_here("fish")) return;
  const Workshop workshop;
  const std::string script = workshop.file("script", run_canopy(workshop, "--completion fish").out);
  CHECK(std::system(("fish -n " + script).c_str()) == 0);
}
