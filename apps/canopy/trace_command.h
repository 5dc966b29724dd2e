#pragma once

namespace CLI {
class App;
}

namespace canopy::app {

/// Adds `canopy trace import` and `canopy trace stat`.
void add_trace(CLI::App& program, int& status);

}  // namespace canopy::app
