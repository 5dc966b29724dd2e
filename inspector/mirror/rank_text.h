#pragma once

#include <canopy/eviction_strategy.h>

#include <string>
#include <string_view>

namespace canopy::inspector {

/// A rank in the words of its policy: `form` is PolicyText::rank. The rank's two numbers where the form is empty; a
/// placeholder that is not known stays as it is.
std::string rank_words(std::string_view form, const Rank& rank, Tick now);

}  // namespace canopy::inspector
