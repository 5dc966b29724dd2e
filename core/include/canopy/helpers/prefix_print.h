#pragma once
/// Computes the prints of prefixes (RequestFacts::prefix_prints). <canopy/plugin.h> does not include this header: a
/// policy compares prints and needs no hash function. It needs the header of xxHash, but no library.

#include <canopy/policy_facts.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace canopy {

/// Returns the print of the empty prefix of a namespace.
constexpr std::uint64_t first_print(NamespaceId space) { return static_cast<std::uint64_t>(space); }
/// Returns the print of the prefix that is longer by the kPrintStride words at `words`.
inline std::uint64_t next_print(std::uint64_t print, const std::uint32_t* words) {
  return XXH3_64bits_withSeed(words, kPrintStride * sizeof(*words), print);
}

}  // namespace canopy
