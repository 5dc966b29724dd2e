#include <cstdlib>

#include "any_strategy.h"

namespace {

/// Ends the process, with the exit code of success, when rank() is called.
struct Leaver final : canopy::EvictionStrategy {
  struct Config {
    void visit(canopy::Options&) {}
  };
  explicit Leaver(const Config&) {}
  canopy::Rank rank(const canopy::NodeFacts&) override { std::exit(0); }
};

}  // namespace

// Its words are commands to a terminal: clear the screen, set the title, turn the direction of writing.
CANOPY_PLUGIN("1.0\x1b[31m", canopy::provide<canopy::EvictionStrategy, Leaver>(
                                 "leaver", "ends the process \x1b[2J\x1b]0;owned\a\xe2\x80\xae and \xc2\x9b lies"));
