#pragma once

#include "bench.h"

namespace canopy::bench {

/// What every measurement is made with.
struct Setting {
  const Registry& registry;
  const Options& options;
  std::size_t repetitions;           ///< of ours and of the floor
  std::size_t original_repetitions;  ///< of the original's algorithm, which takes longer
};

/// Rows that one piece of work brings forth. To add a row, append a Case in the file of its subject, or a file with
/// a function like those below, called in run.cpp.
struct Case {
  std::string section;
  std::vector<std::string> names;  ///< of its rows, in the order that `measure` appends them
  std::function<Result<std::monostate>(const Setting&, Report&, std::vector<Row>&)> measure;
};

void add_replay_cases(const Options& options, std::vector<Case>& cases);
void add_engine_cases(const Options& options, std::vector<Case>& cases);
void add_feed_cases(const Options& options, std::vector<Case>& cases);
void add_tree_cases(const Options& options, std::vector<Case>& cases);
void add_depth_cases(const Options& options, std::vector<Case>& cases);
void add_allocator_cases(const Options& options, std::vector<Case>& cases);

}  // namespace canopy::bench
