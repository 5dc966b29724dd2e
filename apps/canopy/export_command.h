#pragma once

namespace CLI {
class App;
}

namespace canopy::app {

/// Adds `canopy export`.
void add_export(CLI::App& program, int& status);

}  // namespace canopy::app
