#pragma once

#include <bench/report.h>
#include <canopy/base/registry.h>

#include <functional>
#include <string>

/// `canopy-dev bench gpu`: what the GPU's store does with bytes, beside the rooflines of the same run and the driver's
/// own copies of as many bytes. Each move is checked for the right bytes before it is timed.
namespace canopy::bench::gpu {

struct Options {
  double budget = 240;          ///< seconds for all of it; sizes and repetitions shrink with it
  std::string only;             ///< one section, such as page-copies
  bool (*stopped)() = nullptr;  ///< asked before each section; true: what was measured so far is the report
};

using Progress = std::function<void(double, std::uint64_t)>;

/// An error if nothing asked for can be measured here: there is no device, or no section of the name. A section that
/// fails on the way is in Report::failures, and the others are measured all the same. `load` is called once, after the
/// time that the store takes to decline without a driver has been measured.
Result<Report> run(const Options& options, const std::function<Registry()>& load, const Progress& progress);

}  // namespace canopy::bench::gpu
