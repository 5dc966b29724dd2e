#pragma once

#include <string>
#include <string_view>

namespace canopy::report {

/// Text from outside for a page: in an element or in a quoted attribute it is text and nothing else. Control
/// characters, and characters that hide or turn the direction of writing, are shown as escapes.
std::string html(std::string_view text);

/// A JSON text for a <script> element, which ends at the first "</script" whatever stands around it.
std::string json_in_script(std::string_view json);

}  // namespace canopy::report
