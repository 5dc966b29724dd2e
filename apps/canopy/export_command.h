#pragma once

namespace CLI {
class App;
}

namespace canopy::app {

/// `canopy export`.
void add_export(CLI::App& program, int& status);

}  // namespace canopy::app
