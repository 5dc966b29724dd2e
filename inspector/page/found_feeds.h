#pragma once

#include <sources/found_feed.h>

#include <string_view>
#include <vector>

namespace canopy::inspector {

/// Reads lines of a feed each: name, process, program, page size, groups, 1 if it takes controls, and the reason why it
/// has ended, separated by tabs. Leaves out lines with fewer fields.
std::vector<FoundFeed> feeds_of(std::string_view lines);

}  // namespace canopy::inspector
