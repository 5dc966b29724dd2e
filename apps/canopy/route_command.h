#pragma once

#include "commands.h"

namespace CLI {
class App;
}

namespace canopy::app {

/// `canopy route`.
void add_route(CLI::App& program, const PluginFolders& folders, int& status);

}  // namespace canopy::app
