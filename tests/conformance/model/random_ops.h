#pragma once

#include "world.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace canopy::test {

/// A seeded program for one world. It does not depend on the results of its operations.
struct Program {
  std::uint64_t seed = 0;
  WorldConfig config;
  std::vector<Operation> operations;
};

/// Returns a random program. Besides the operations it varies the capacity (one page to thousands) and the kinds of
/// operation that never occur, so that a fault which needs the absence of one is found too.
Program random_program(std::uint64_t seed, WorldConfig config, std::size_t operations);

struct Failure {
  std::size_t at = 0;  ///< operations that had succeeded
  std::string what;
};

/// Runs the program in a new world, to the end and through finish().
std::optional<Failure> run_program(const Program& program, Coverage* coverage = nullptr);

using Run = std::function<std::optional<Failure>(const Program&)>;

/// Removes operations, then words, as long as the program still fails.
Program shrunk(const Program& failing, const Run& run);

/// Returns the text of a failed test: the difference, the seed, and the shrunk program as a scenario file.
std::string report(const Program& failing, const Failure& failure);

}  // namespace canopy::test
