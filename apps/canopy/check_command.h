#pragma once

#include "commands.h"

namespace CLI {
class App;
}

namespace canopy::app {

/// `canopy check`: engines under random requests and faults, or a program that such a run has written.
void add_check(CLI::App& program, const PluginFolders& folders, int& status);

}  // namespace canopy::app
