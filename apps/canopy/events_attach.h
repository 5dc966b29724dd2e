#pragma once

namespace CLI {
class App;
}

namespace canopy::app {

/// Adds `canopy events attach`: makes a feed from the KV events of servers.
void add_events_attach(CLI::App& events, int& status);

}  // namespace canopy::app
