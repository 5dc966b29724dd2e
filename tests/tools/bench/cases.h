#pragma once

#include "bench.h"

namespace canopy::bench {

/// The arguments of every measurement.
struct Setting {
  const Registry& registry;
  const Options& options;
  std::size_t repetitions;           ///< repetitions of ours and of the floor
  std::size_t original_repetitions;  ///< repetitions of the original's algorithm, which is slower
};

/// Rows that are measured together. To add a row, append a Case in the file of its subject. To add a file of rows,
/// write one with a function add_SUBJECT_cases and add its line to the table in run.cpp.
struct Case {
  std::vector<std::string> names;  ///< names of its rows, "SUBJECT: ..."
  /// Appends the rows to the report.
  std::function<Result<std::monostate>(const Setting&, Report&)> measure;
};

}  // namespace canopy::bench
