#pragma once

#include <canopy/support/result.h>

#include <string>
#include <string_view>

namespace canopy::replay {

/// Whether a report can be written there: asked before a long run, not after it.
Result<std::monostate> can_write_file(const std::string& path);
/// All of it or nothing: a reader of `path` never meets half a report.
Result<std::monostate> write_whole_file(const std::string& path, std::string_view text);

}  // namespace canopy::replay
