/// Help, completion and the man page of a program, from its commands and options.
#include "reference.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <functional>
#include <vector>

namespace canopy::app {
namespace {

using Words = std::vector<std::string>;

struct OptionFacts {
  Words names;        ///< such as --seed; for a positional, its name alone
  Words choices;      ///< Values if only these are accepted.
  std::string value;  ///< Kind of the value, such as UINT. Empty: a flag.
  std::string help;
  bool positional = false, required = false;
};

struct CommandFacts {
  std::string place;  ///< with the program: "canopy trace import"
  const CLI::App* app;
  std::vector<OptionFacts> options, positionals;
  std::vector<const CLI::App*> commands;
};

std::string joined(const Words& words, const char* separator) { return fmt::format("{}", fmt::join(words, separator)); }

/// Returns the text with each KEY replaced by its value.
std::string filled(std::string text, std::initializer_list<std::pair<const char*, std::string>> values) {
  for (const auto& [key, value] : values) text = CLI::detail::find_and_replace(std::move(text), key, value);
  return text;
}

std::string for_shell(const std::string& text) { return "'" + filled(text, {{"'", "'\\''"}}) + "'"; }
std::string for_fish(const std::string& text) { return "'" + filled(text, {{"\\", "\\\\"}, {"'", "\\'"}}) + "'"; }
/// Returns text for roff whose lines are no requests.
std::string for_roff(const std::string& text) { return filled(text, {{"\\", "\\e"}, {"-", "\\-"}, {"\n", "\n\\&"}}); }

OptionFacts facts_of(const CLI::Option& option) {
  OptionFacts facts;
  facts.positional = option.get_positional();
  facts.required = option.get_required();
  facts.help = option.get_description();
  for (const std::string& name : option.get_snames()) facts.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) facts.names.push_back("--" + name);
  if (facts.positional) facts.names = {option.get_name(true, false)};
  if (option.get_items_expected_max() == 0) return facts;
  const std::string type = option.get_type_name(), given = option.get_default_str();
  const std::size_t open = type.find('{'), close = type.find('}');
  if (close != std::string::npos) facts.choices = CLI::detail::split(type.substr(open + 1, close - open - 1), ',');
  facts.value = facts.choices.empty() ? type.substr(0, type.find(':')) : joined(facts.choices, "|");
  if (!given.empty() && given != "[]") facts.help += "; default: " + given;
  return facts;
}

/// Returns the program and its commands, each before its subcommands.
std::vector<CommandFacts> facts_of(const CLI::App& program) {
  std::vector<CommandFacts> all;
  const std::function<void(const CLI::App&, const std::string&)> add = [&](const CLI::App& app, std::string place) {
    place += app.get_name();
    CommandFacts facts{place, &app, {}, {}, app.get_subcommands({})};
    for (const CLI::Option* option : app.get_options())
      (option->get_positional() ? facts.positionals : facts.options).push_back(facts_of(*option));
    all.push_back(facts);
    for (const CLI::App* each : facts.commands) add(*each, place + " ");
  };
  add(program, "");
  return all;
}

/// Fills the script of a shell: PROGRAM; FUNCTION, its name in names of functions; PLACES, the commands in quotes; and
/// `more`, first.
std::string script_of(const std::vector<CommandFacts>& all, const char* separator, std::string text,
                      std::initializer_list<std::pair<const char*, std::string>> more) {
  Words places;
  for (const CommandFacts& command : all)
    if (command.app->get_parent()) places.push_back(for_shell(command.place));
  const std::string name = all[0].place;
  return filled(filled(std::move(text), more),
                {{"PLACES", joined(places, separator)}, {"FUNCTION", filled(name, {{"-", "_"}})}, {"PROGRAM", name}});
}

/// Returns branches of a `case` in bash and zsh for the word after an option that has a value. `choices` completes
/// WORDS, and `files` files.
std::string value_branches(const std::vector<CommandFacts>& all, const std::string& choices, const std::string& files) {
  std::string text;
  for (const CommandFacts& command : all)
    for (const OptionFacts& option : command.options)
      for (const std::string& name : option.value.empty() ? Words() : option.names)
        text += fmt::format("    {}) {} ;;\n", for_shell(command.place + " " + name),
                            option.choices.empty() ? files : filled(choices, {{"WORDS", joined(option.choices, " ")}}));
  return text;
}

/// Returns branches of a `case` in bash and zsh that set the arrays `commands` and `options`; with `help`, to
/// NAME:HELP.
std::string word_branches(const std::vector<CommandFacts>& all, bool help) {
  std::string text;
  for (const CommandFacts& command : all) {
    Words commands, options;
    const auto add = [&](Words& words, const std::string& name, const std::string& about) {
      words.push_back(for_shell(help ? name + ":" + about : name));
    };
    for (const CLI::App* each : command.commands) add(commands, each->get_name(), each->get_description());
    for (const OptionFacts& option : command.options)
      for (const std::string& name : option.names) add(options, name, option.help);
    text += fmt::format("    {}) commands=({}) options=({}) ;;\n", for_shell(command.place), joined(commands, " "),
                        joined(options, " "));
  }
  return text;
}

std::string bash_script(const std::vector<CommandFacts>& all) {
  return script_of(all, "|", R"(# Completion of PROGRAM for bash; `PROGRAM --completion bash` wrote it.
_FUNCTION() {
  local word=${COMP_WORDS[COMP_CWORD]} at=PROGRAM i commands=() options=()
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; ++i)); do
    case "$at ${COMP_WORDS[i]}" in PLACES) at="$at ${COMP_WORDS[i]}" ;; esac
  done
  case "$at ${COMP_WORDS[COMP_CWORD - 1]}" in
VALUES  esac
  case "$at" in
BRANCHES  esac
  if [[ $word == -* ]]; then COMPREPLY=($(compgen -W "${options[*]}" -- "$word"))
  else COMPREPLY=($(compgen -W "${commands[*]}" -- "$word")); fi
}
complete -o default -F _FUNCTION PROGRAM
)",
                   {{"VALUES", value_branches(all, "COMPREPLY=($(compgen -W 'WORDS' -- \"$word\")); return", "return")},
                    {"BRANCHES", word_branches(all, false)}});
}

std::string zsh_script(const std::vector<CommandFacts>& all) {
  return script_of(all, "|", R"(#compdef PROGRAM
# Completion of PROGRAM for zsh; `PROGRAM --completion zsh` wrote it.
_FUNCTION() {
  local at=PROGRAM i
  local -a commands options
  for ((i = 2; i < CURRENT; ++i)); do
    case "$at ${words[i]}" in PLACES) at="$at ${words[i]}" ;; esac
  done
  case "$at ${words[CURRENT - 1]}" in
VALUES  esac
  case "$at" in
BRANCHES  esac
  if [[ $PREFIX == -* ]]; then _describe option options
  elif (( $#commands )); then _describe command commands
  else _files; fi
}
_FUNCTION "$@"
)",
                   {{"VALUES", value_branches(all, "compadd WORDS; return", "_files; return")},
                    {"BRANCHES", word_branches(all, true)}});
}

std::string fish_script(const std::vector<CommandFacts>& all) {
  std::string lines;
  for (const CommandFacts& command : all) {
    const std::string begin = "complete -c PROGRAM -n \"__FUNCTION_at " + for_fish(command.place) + "\"";
    for (const CLI::App* each : command.commands)
      lines += fmt::format("{} -f -a {} -d {}\n", begin, each->get_name(), for_fish(each->get_description()));
    for (const OptionFacts& option : command.options) {
      lines += begin;
      for (const std::string& name : option.names)
        lines += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      lines += option.value.empty() ? "" : " -r";
      if (!option.choices.empty()) lines += fmt::format(" -f -a '{}'", joined(option.choices, " "));
      lines += fmt::format(" -d {}\n", for_fish(option.help));
    }
  }
  return script_of(all, " ", R"(# Completion of PROGRAM for fish; `PROGRAM --completion fish` wrote it.
function __FUNCTION_at
  set -l at PROGRAM
  for word in (commandline -opc)[2..]
    contains -- "$at $word" PLACES; and set at "$at $word"
  end
  test "$at" = "$argv[1]"
end
LINES)",
                   {{"LINES", lines}});
}

/// Returns the usage of a command and its options as text for roff.
std::string man_command(const CommandFacts& command) {
  std::string text = fmt::format(".SS {}", for_roff(command.place));
  for (const OptionFacts& each : command.positionals)
    text += fmt::format(" {}\\fI{}\\fR{}", each.required ? "" : "[", for_roff(each.names[0]), each.required ? "" : "]");
  text += "\n";
  if (command.app->get_parent()) text += for_roff(command.app->get_description()) + ".\n";
  if (const std::string more = command.app->get_footer(); !more.empty()) text += for_roff(more) + "\n";
  for (const auto* options : {&command.positionals, &command.options})
    for (const OptionFacts& option : *options) {
      if (option.names.back() == "--help" && command.app->get_parent()) continue;
      Words names;
      for (const std::string& name : option.names) names.push_back("\\fB" + for_roff(name) + "\\fR");
      text += fmt::format(".TP\n{}{}\n{}\n", joined(names, ", "),
                          option.positional || option.value.empty() ? "" : " \\fI" + for_roff(option.value) + "\\fR",
                          for_roff(option.help));
    }
  return text;
}

}  // namespace

std::string Help::make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const {
  return app->get_parent() ? Formatter::make_help(app, name, mode) : overview(*app);
}

std::string overview(const CLI::App& program) {
  std::string text, group;
  for (const CLI::App* command : program.get_subcommands({})) {
    const std::string own = command->get_group() == "Subcommands" ? "" : command->get_group();
    text += fmt::format("{:<7}  {:<7}  {}\n", own == group ? "" : own, command->get_name(), command->get_description());
    group = own;
  }
  return text +
         fmt::format("`{0} COMMAND --help` has its options, `{0} --man` all; --completion bash|zsh|fish, --version\n",
                     program.get_name());
}

std::string completion_script(const CLI::App& program, const std::string& shell) {
  const std::vector<CommandFacts> all = facts_of(program);
  return shell == "bash" ? bash_script(all) : shell == "zsh" ? zsh_script(all) : fish_script(all);
}

std::string man_page(const CLI::App& program, const std::string& version) {
  const std::string name = for_roff(program.get_name());
  std::string text = fmt::format(
      ".TH {0} 1 \"\" \"{1}\"\n.SH NAME\n{0} \\- {2}\n.SH SYNOPSIS\n\\fB{0}\\fR \\fICOMMAND\\fR [\\fIOPTIONS\\fR]\n"
      ".SH COMMANDS\n",
      name, version, for_roff(program.get_description()));
  for (const CommandFacts& command : facts_of(program)) text += man_command(command);
  return text +
         ".SH EXIT STATUS\n.TP\n0\nfine\n.TP\n1\na check failed\n.TP\n2\narguments or files cannot be used\n"
         ".TP\n130, 143\na signal ended it\n";
}

}  // namespace canopy::app
