#pragma once

#include <canopy/support/result.h>
#include <lab/comparison.h>

#include <string>

namespace canopy::report {

/// A comparison as one HTML page that needs nothing else: no network, no other file. It is light or dark as the
/// reader's system is, and prints. Everything from outside (names, paths, options) is text in it. REQUIRES: at least
/// one capacity.
std::string page_of(const lab::Comparison& comparison);

/// Writes the page, all of it or nothing.
Result<std::monostate> write_page(const lab::Comparison& comparison, const std::string& path);

}  // namespace canopy::report
