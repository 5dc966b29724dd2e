#include "random_ops.h"

#include <program/mismatch.h>
#include <program/shrink.h>

#include <cstdio>

namespace canopy::test {

std::optional<Failure> run_program(const Program& program, Coverage* coverage) {
  World world(program.config);
  std::size_t at = 0;
  std::optional<Failure> failure;
  try {
    for (; at < program.operations.size(); ++at) world.apply(program.operations[at]);
    world.finish();
  } catch (const Mismatch& error) {
    failure = Failure{at, error.what()};
  }
  if (coverage) coverage->add(world.coverage());
  return failure;
}

Program shrunk(const Program& failing, const Run& run) {
  Program program = failing;
  program.config.walk_every = 1;
  // A somewhat longer program now is worth more than the shortest one later.
  constexpr double kSeconds = 60;
  const program::Fails fails = [&](const std::vector<Operation>& operations) -> std::optional<std::size_t> {
    program.operations = operations;
    const auto failure = run(program);
    return failure ? std::optional(failure->at + 1) : std::nullopt;
  };
  program.operations = program::shrunk(failing.operations, fails, kSeconds);
  return program;
}

std::string report(const Program& failing, const Failure& failure) {
  const Run run = [](const Program& program) { return run_program(program); };
  std::string text = fmt::format("seed {}, operation {}: {}\n", failing.seed, failure.at, failure.what);
  // Printed at once, because the program may hang or crash in the next run.
  std::fputs(text.c_str(), stderr);
  const Program small = shrunk(failing, run);
  text += fmt::format("shrunk to {} operations:\n", small.operations.size());
  text += text_of(small.config) + "\n";
  for (const Operation& operation : small.operations) text += text_of(operation) + "\n";
  const auto still = run(small);
  return text + "# " + (still ? still->what : "it does not fail in a second run") + "\n";
}

}  // namespace canopy::test
