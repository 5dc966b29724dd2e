#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace canopy::workload {

/// Returns the keys of the JSON object with which a text begins; if it begins with a list, of the list's first object.
/// The text may end within it: then those that are there completely. Not the keys of objects within it. Empty for
/// a text that begins with something else. A key with an escape in it is left as it is written.
std::vector<std::string> first_keys(std::string_view text);

}  // namespace canopy::workload
