#pragma once

namespace CLI {
class App;
}

namespace canopy::app {

/// Adds `canopy subscribe`: makes a feed of the KV events of servers.
void add_subscribe(CLI::App& program, int& status);

}  // namespace canopy::app
