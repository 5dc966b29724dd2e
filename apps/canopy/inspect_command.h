#pragma once

namespace CLI {
class App;
}

namespace canopy::app {

/// Adds `canopy inspect`.
void add_inspect(CLI::App& program, int& status);

}  // namespace canopy::app
