#pragma once

#include <bench/report.h>
#include <canopy/base/registry.h>

#include <functional>
#include <string>

/// `canopy-dev bench gpu`: times the transfers of the store on a GPU next to the rooflines of the same run and the
/// driver's own copies of the same number of bytes. Each transfer is checked for the right bytes before it is timed.
namespace canopy::bench::gpu {

struct Options {
  double budget = 240;          ///< seconds for all of it; sizes and repetitions shrink with it
  std::string only;             ///< one section, such as demotion
  bool (*stopped)() = nullptr;  ///< called before each section; if it returns true, the report ends there
};

using Progress = std::function<void(double, std::uint64_t)>;

/// Runs the bench. Returns an error if there is no device, or no section of the name. A section that fails is in
/// Report::failures, and the others are still measured. `load` is called once.
Result<Report> run(const Options& options, const std::function<Registry()>& load, const Progress& progress);

}  // namespace canopy::bench::gpu
