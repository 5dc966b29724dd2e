#pragma once

#include <CLI/CLI.hpp>

#include <string>

namespace canopy::app {

/// Help of a program: the overview; of its commands: all options.
class Help : public CLI::Formatter {
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override;
};

/// Returns the commands in their groups, one line each.
std::string overview(const CLI::App& program);
/// Returns a completion script. REQUIRES: `shell` is bash, zsh or fish.
std::string completion_script(const CLI::App& program, const std::string& shell);
/// Returns the man page in roff: all commands with all options.
std::string man_page(const CLI::App& program, const std::string& version);

}  // namespace canopy::app
