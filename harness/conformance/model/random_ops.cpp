#include "random_ops.h"

#include "mismatch.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

namespace canopy::test {

namespace {

class Shrinker {
 public:
  Shrinker(Program program, const Run& run) : program_(std::move(program)), run_(run) {}

  Program run() {
    if (!keep_if_failing(program_)) return program_;
    while (fewer_operations() || fewer_words()) {
    }
    return program_;
  }

 private:
  /// Takes the candidate over, up to the operation at which it fails.
  bool keep_if_failing(Program candidate) {
    if (std::chrono::steady_clock::now() > deadline_) return false;
    const auto failure = run_(candidate);
    if (!failure) return false;
    candidate.operations.resize(std::min(failure->at + 1, candidate.operations.size()));
    program_ = std::move(candidate);
    return true;
  }

  bool fewer_operations() {
    bool progress = false;
    for (std::size_t range = std::max<std::size_t>(program_.operations.size() / 2, 1); range > 0; range /= 2) {
      for (std::size_t at = 0; at < program_.operations.size();) {
        Program smaller = program_;
        const auto first = smaller.operations.begin() + static_cast<std::ptrdiff_t>(at);
        const std::size_t count = std::min(range, smaller.operations.size() - at);
        smaller.operations.erase(first, first + static_cast<std::ptrdiff_t>(count));
        if (keep_if_failing(std::move(smaller))) progress = true;
        else at += range;
      }
    }
    return progress;
  }

  bool fewer_words() {
    bool progress = false;
    for (std::size_t i = 0; i < program_.operations.size(); ++i)
      for (std::size_t less = program_.operations[i].words.size(); less > 0; less /= 2)
        while (drop_words(i, less)) progress = true;
    return progress;
  }

  bool drop_words(std::size_t i, std::size_t less) {
    if (i >= program_.operations.size() || program_.operations[i].words.size() < less) return false;
    Program smaller = program_;
    auto& words = smaller.operations[i].words;
    words.resize(words.size() - less);
    return keep_if_failing(std::move(smaller));
  }

  Program program_;
  const Run& run_;
  /// A somewhat longer program now says more than the shortest one later.
  std::chrono::steady_clock::time_point deadline_ = std::chrono::steady_clock::now() + std::chrono::seconds(60);
};

}  // namespace

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
  return Shrinker(std::move(program), run).run();
}

std::string report(const Program& failing, const Failure& failure) {
  const Run run = [](const Program& program) { return run_program(program); };
  std::string text = fmt::format("seed {}, operation {}: {}\n", failing.seed, failure.at, failure.what);
  // At once, because what has failed may hang or crash when it is run again.
  std::fputs(text.c_str(), stderr);
  const Program small = shrunk(failing, run);
  text += fmt::format("shrunk to {} operations:\n", small.operations.size());
  text += text_of(small.config) + "\n";
  for (const Operation& operation : small.operations) text += text_of(operation) + "\n";
  const auto still = run(small);
  return text + "# " + (still ? still->what : "it does not fail when it is run again") + "\n";
}

}  // namespace canopy::test
