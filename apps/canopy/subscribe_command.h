#pragma once

namespace CLI {
class App;
}

namespace canopy::app {

/// `canopy subscribe`: a feed from the KV events of servers.
void add_subscribe(CLI::App& program, int& status);

}  // namespace canopy::app
