#pragma once

#include <canopy/engine/engine.h>

#include <string>

namespace canopy::app {

/// Returns the tree as text: the heaviest prefixes of each namespace with their subtrees, and one line for each part
/// that is left out. At most about `most_lines` lines, however large the tree.
std::string tree_text(const Engine& engine, std::size_t most_lines, bool unicode);

}  // namespace canopy::app
