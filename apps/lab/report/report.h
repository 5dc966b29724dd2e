#pragma once

#include <canopy/base/result.h>
#include <lab/comparison.h>
#include <workload/trace_stat.h>

#include <string>

namespace canopy::report {

/// Writes a comparison as one self-contained HTML page, completely or not at all. Its script draws the embedded JSON
/// without a network or another file. The page follows the reader's light or dark mode, and prints. Everything from
/// outside (names, paths, options) is embedded as text. REQUIRES: at least one capacity.
Result<std::monostate> write_page(const lab::Comparison& comparison, const std::string& path);

/// Writes what is in a trace as such a page. `trace`: its name as given.
Result<std::monostate> write_trace_page(const workload::TraceFacts& facts, const std::string& trace,
                                        const std::string& path);

}  // namespace canopy::report
