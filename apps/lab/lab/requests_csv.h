#pragma once

#include <canopy/base/atomic_file.h>

#include <string>

#include "comparison.h"
#include "trace.h"

namespace canopy::lab {

/// A CSV with a row for each request in each run of a comparison, for plots of one's own. Written completely or not at
/// all. docs/lab.md has the columns.
class RequestsCsv {
 public:
  static Result<RequestsCsv> begin(const std::string& path);
  /// Adds the runs of a comparison over a trace. commit() returns the error of writing, so that a full disk does not
  /// end the runs. REQUIRES: CompareOptions::keep_requests.
  void add(const Trace& trace, const Comparison& comparison);
  Result<std::monostate> commit();

 private:
  explicit RequestsCsv(AtomicFile file) : file_(std::move(file)) {}
  void flush();

  AtomicFile file_;
  std::string piece_;
  Result<std::monostate> written_ = std::monostate{};
};

}  // namespace canopy::lab
