#pragma once

#include <canopy/base/registry.h>

#include <functional>
#include <string>
#include <vector>

#include "report.h"

namespace canopy::bench {

struct Options {
  bool quick = false;           ///< smaller trees, fewer requests and repetitions: about 15 s
  std::string only;             ///< only rows whose name contains it
  std::string index = "radix";  ///< name of the index to measure
  std::string trace;            ///< as for workload::open_trace; empty: a generated workload
  std::uint64_t block = 0;      ///< tokens that an id of the trace stands for; 0: the value of its published format
  bool (*stopped)() = nullptr;  ///< called before each section; if it returns true, the report ends there
};

/// Called when a section begins, with the share of sections that are done, 0..1, and the number of rows so far.
using Progress = std::function<void(double, std::uint64_t)>;

/// Returns the names of all rows.
std::vector<std::string> row_names(const Options& options);

/// Measures in this process, on one thread unless a row says otherwise. Returns an error if no row's name contains
/// `only`, no index has the name, or a trace cannot be read.
Result<Report> run(const Options& options, const Registry& registry, const Progress& progress);

}  // namespace canopy::bench
