#pragma once

#include <canopy/base/registry.h>

#include <string>
#include <vector>

#include "model.h"

namespace canopy::examples {

struct WalkOptions {
  std::string store = "host";  ///< or "cuda"
  std::uint32_t device = 0;    ///< device of cuda
  Element element = Element::fp32;
  bool plant = false;  ///< the last request reads a wrong page without a message: the walk must fail
};

/// The attention of one request's last token in all layers, over pages and over the same K and V computed again in one
/// piece. Both run the same instructions in the same order: if the pages are correct, the difference is exactly 0.
struct Comparison {
  std::string what;
  std::uint32_t tokens = 0, reused = 0;
  std::vector<Page> pages;   ///< page numbers as read
  double to_contiguous = 0;  ///< largest difference of an element; infinite if one is not a number
  double to_fp64 = 0;        ///< difference from Model::attention, whose order is another; at most kTolerance
  bool planted = false;      ///< a page number was changed on purpose: there must be a difference
  bool as_it_must_be() const;
};
/// Limit of the error. Outputs are sums of numbers below 1 with weights that add up to 1; summing a few hundred of them
/// in fp32 has an error below this.
inline constexpr double kTolerance = 1e-5;

struct WalkReport {
  std::vector<Comparison> comparisons;
  std::uint64_t relocated_pages = 0;
  std::vector<std::string> exports;     ///< data that an engine hands to other kernels, one line each
  std::vector<std::string> complaints;  ///< reasons why the walk failed; empty if it did not
};

/// Runs requests that share a prefix on an engine with two layers of K and V. Throws ExampleError if there is no such
/// store, or the device fails.
WalkReport walk(const Registry& registry, const WalkOptions& options);

}  // namespace canopy::examples
