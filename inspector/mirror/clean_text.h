#pragma once

#include <string>
#include <string_view>

namespace canopy::inspector {

/// A text as it can be shown in its place: what a feed tells may be any bytes. Control bytes but those in `keep`, marks
/// that turn the direction of writing, and bytes that are no UTF-8 become '?'.
std::string clean_text(std::string_view text, std::string_view keep = {});

}  // namespace canopy::inspector
