#pragma once

namespace CLI {
class App;
}

namespace canopy::app {

/// Adds `canopy events decode` and `canopy events stat`.
void add_events(CLI::App& program, int& status);

}  // namespace canopy::app
