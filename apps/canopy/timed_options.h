#pragma once

#include <replay/replay.h>

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace canopy::app {

/// Adds --mode, and the options of its value `timed`, which are returned.
std::vector<CLI::Option*> add_mode(CLI::App& command, replay::Options& options);
/// Returns why the options do not fit the mode, and empty if they do. `timed`: those that add_mode() returned.
std::string flaw_of_mode(const replay::Options& options, const std::vector<CLI::Option*>& timed);

}  // namespace canopy::app
