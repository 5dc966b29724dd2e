#pragma once

#include <canopy/eviction_strategy.h>

#include <string>
#include <string_view>

namespace canopy::inspector {

/// Returns a rank in the words of its policy. `form` is PolicyText::rank; if it is empty, returns the rank's two
/// numbers. An unknown placeholder stays unchanged.
std::string rank_words(std::string_view form, const Rank& rank, Tick now);

}  // namespace canopy::inspector
