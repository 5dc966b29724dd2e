#pragma once

namespace CLI {
class App;
}

namespace canopy::app {

/// `canopy trace import` and `canopy trace stat`.
void add_trace(CLI::App& program, int& status);

}  // namespace canopy::app
