#pragma once

#include "operation.h"
#include "world.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace canopy::test {

/// A seeded program for one world. Nothing in it depends on how the operations turn out.
struct Program {
  std::uint64_t seed = 0;
  WorldConfig config;
  std::vector<Operation> operations;
};

/// Draws, besides the operations, what must differ from world to world: the capacity (one page to thousands)
/// and which kinds of operation never occur, so that a fault which needs the absence of one is met too.
Program random_program(std::uint64_t seed, WorldConfig config, std::size_t operations);

struct Failure {
  std::size_t at = 0;  ///< operations that had succeeded
  std::string what;
};

/// Runs it in a fresh world, to the end and through finish().
std::optional<Failure> run_program(const Program& program, Coverage* coverage = nullptr);

using Run = std::function<std::optional<Failure>(const Program&)>;

/// Deletes operations, then words, as long as the program still fails.
Program shrunk(const Program& failing, const Run& run);

/// What a test prints: what differed, the seed, and the shrunk program as a scenario file.
std::string report(const Program& failing, const Failure& failure);

}  // namespace canopy::test
