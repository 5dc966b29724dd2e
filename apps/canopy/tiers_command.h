#pragma once

namespace CLI {
class App;
}

namespace canopy::app {

/// Adds `canopy tiers ls` and `canopy tiers check`, for folders of the storage `slots`.
void add_tiers(CLI::App& program, int& status);

}  // namespace canopy::app
