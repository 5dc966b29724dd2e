#pragma once

namespace CLI {
class App;
}

namespace canopy::app {

/// `canopy subscribe`.
void add_subscribe(CLI::App& program, int& status);

}  // namespace canopy::app
