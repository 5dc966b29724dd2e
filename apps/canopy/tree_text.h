#pragma once

#include <canopy/engine/engine.h>

#include <string>

namespace canopy::app {

/// The tree as text: per namespace the heaviest prefixes, with what hangs below them, and in one line what is
/// left out. `most_lines` bounds it, however large the tree.
std::string tree_text(const Engine& engine, std::size_t most_lines, bool unicode);

}  // namespace canopy::app
