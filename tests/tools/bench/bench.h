#pragma once

#include <canopy/base/registry.h>

#include <functional>
#include <string>

#include "report.h"

namespace canopy::bench {

struct Options {
  bool quick = false;           ///< smaller trees, fewer requests and repetitions: about 15 s
  std::string only;             ///< rows whose name contains it
  std::string index = "radix";  ///< the index to measure, of those in the registry
  std::string trace;            ///< as for workload::open_trace; empty: a generated workload instead
  std::uint64_t block = 0;      ///< tokens that an id of the trace stands for; 0: as its format is published
  bool (*stopped)() = nullptr;  ///< asked before each section; true: what was measured so far is the report
};

/// Called when a section begins: how many of all are done, 0..1, and how many rows there are.
using Progress = std::function<void(double, std::uint64_t)>;

/// Measures in this process, on one thread except where a row says otherwise. An error if no row's name contains
/// `only`, no index has the name, or a trace cannot be read.
Result<Report> run(const Options& options, const Registry& registry, const Progress& progress);

}  // namespace canopy::bench
