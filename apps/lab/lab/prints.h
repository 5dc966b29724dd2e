#pragma once

#include <canopy/types.h>

#include <cstdint>
#include <span>
#include <vector>

namespace canopy::lab {

/// Division of a prompt into units: the pages or blocks that a cache keeps or evicts as a whole.
struct Cut {
  Units unit = 1;        ///< words
  Units overlap = 0;     ///< words of look-ahead of a unit (KeyCodec::overlap)
  bool partial = false;  ///< true if the rest after the last whole unit is a unit too

  Units units(std::size_t words) const;
  /// Returns the tokens in the first `units` units of a prompt. REQUIRES: overlap is 0 if `partial` is set.
  std::uint64_t tokens(std::uint64_t units, std::uint64_t prompt) const;
};

/// Overwrites `prints` with one print per unit of a prompt. A print identifies the namespace and all words up to the
/// unit's end, so equal prints mean equal prefixes.
void print_units(const Cut& cut, NamespaceId space, std::span<const std::uint32_t> words,
                 std::vector<std::uint64_t>& prints);

}  // namespace canopy::lab
