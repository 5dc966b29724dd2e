#pragma once

#include <canopy/types.h>

#include <cstdint>
#include <span>
#include <vector>

namespace canopy::lab {

/// How a prompt is cut into units, the pages or blocks that a cache keeps or evicts as a whole.
struct Cut {
  Units unit = 1;        ///< words
  Units overlap = 0;     ///< words that a unit looks ahead (KeyCodec::overlap)
  bool partial = false;  ///< whether the rest behind the last whole unit is a unit as well

  Units units(std::size_t words) const;
  /// Tokens that the first `units` units of a prompt stand for. REQUIRES: overlap is 0 if `partial` is set.
  std::uint64_t tokens(std::uint64_t units, std::uint64_t prompt) const;
};

/// One print for each unit of a prompt: it names the namespace and all words up to the unit's end, so equal prints mean
/// equal prefixes. `prints` is overwritten.
void print_units(const Cut& cut, NamespaceId space, std::span<const std::uint32_t> words,
                 std::vector<std::uint64_t>& prints);

}  // namespace canopy::lab
