#pragma once

namespace CLI {
class App;
}

namespace canopy::app {

/// Adds `canopy serve`.
void add_serve(CLI::App& program, int& status);

}  // namespace canopy::app
