#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace canopy::app {

struct ServeArguments {
  std::string what, listen = "127.0.0.1", token_file;
  std::uint16_t port = 7780;
  std::vector<std::string> hosts;
  bool demo = false, controls = false;
};

/// Runs `canopy serve` until Ctrl-C. In a build without the page, prints what was missing and what brings it.
int serve(const ServeArguments& arguments);
/// Adds `canopy serve`.
void add_serve(CLI::App& program, int& status);

}  // namespace canopy::app
