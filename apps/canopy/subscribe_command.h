#pragma once

namespace CLI {
class App;
}

namespace canopy::app {

/// Adds `canopy subscribe`: makes a feed from the KV events of servers.
void add_subscribe(CLI::App& program, int& status);

}  // namespace canopy::app
