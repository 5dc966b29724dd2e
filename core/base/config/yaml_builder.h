#pragma once

#include <canopy/base/yaml_document.h>

#include <cstddef>
#include <string_view>

#include "yaml_text.h"

namespace canopy {

/// The limits of a document: its bytes, and its levels of nested lists and maps. --set creates no deeper level.
inline constexpr std::size_t kMaxBytes = std::size_t{1} << 20;
inline constexpr std::size_t kMaxDepth = 32;

/// Returns the tree of a text. Throws Refused if the text is not one value.
YamlNode build_tree(std::string_view text, Places& places);

}  // namespace canopy
