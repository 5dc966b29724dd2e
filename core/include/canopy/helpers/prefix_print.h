#pragma once
/// Makes the prints of prefixes (RequestFacts::prefix_prints). <canopy/plugin.h> does not include this: a policy
/// compares prints and needs no hash. Needs xxHash's header; links nothing.

#include <canopy/policy_facts.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace canopy {

/// Returns the print before the first stride of a namespace's keys.
constexpr std::uint64_t first_print(NamespaceId space) { return static_cast<std::uint64_t>(space); }
/// Returns the print behind another stride of kPrintStride words.
inline std::uint64_t next_print(std::uint64_t print, const std::uint32_t* words) {
  return XXH3_64bits_withSeed(words, kPrintStride * sizeof(*words), print);
}

}  // namespace canopy
