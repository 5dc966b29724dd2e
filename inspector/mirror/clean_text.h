#pragma once

#include <string>
#include <string_view>

namespace canopy::inspector {

/// Returns a text that is safe to show: a feed may contain any bytes. Replaces with '?' the control bytes that are not
/// in `keep`, marks that change the direction of writing, and invalid UTF-8.
std::string clean_text(std::string_view text, std::string_view keep = {});

}  // namespace canopy::inspector
