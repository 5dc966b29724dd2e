#pragma once

#include <canopy/config/yaml_document.h>

#include <cstddef>
#include <string_view>

#include "yaml_text.h"

namespace canopy {

/// The most that a document may have, of bytes and of lists and maps in each other; files are not read further, and
/// --set leads no deeper.
inline constexpr std::size_t kMaxBytes = std::size_t{1} << 20;
inline constexpr std::size_t kMaxDepth = 32;

/// The tree of a text's one value. Throws Refused where there is none.
YamlNode build_tree(std::string_view text, Places& places);

}  // namespace canopy
