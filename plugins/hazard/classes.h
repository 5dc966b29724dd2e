#pragma once

#include <canopy/policy_facts.h>

#include <cstddef>
#include <cstdint>

namespace canopy::hazard {

/// One use of a prefix: the number of uses so far, and the request that uses it now.
struct Use {
  std::uint32_t count = 1;   ///< requests that used the prefix, including this one, whether it was resident or not
  std::uint32_t fresh = 0;   ///< tokens of the prompt that are in no request that ended earlier
  std::uint32_t answer = 0;  ///< tokens of its answer
  std::uint64_t hints = 0;   ///< hints of the request's client
};

inline constexpr std::size_t kUses = 6, kHintAt = 7, kClassBits = 12, kClasses = std::size_t{1} << kClassBits;
inline constexpr std::size_t kAnyNews = 5;       ///< in place of news_of, without the bit of the answer
inline constexpr std::uint32_t kMostCount = 64;  ///< counts from here on are equivalent

inline std::size_t uses_of(std::uint32_t count) {
  return count <= 1 ? 0 : count == 2 ? 1 : count < 6 ? 2 : count < 16 ? 3 : count < kMostCount ? 4 : 5;
}
inline std::size_t uses_in(std::size_t of_class) { return of_class & 7; }
inline std::size_t news_of(std::uint32_t fresh) {
  return fresh < 640 ? 0 : fresh < 1280 ? 1 : fresh < 3072 ? 2 : fresh < 8192 ? 3 : 4;
}

/// Returns the class of a use, below kClasses. Each class learns separately at which ages its prefixes are used again.
/// A field of its bits stands for each dimension, as a rank shows them: uses, new tokens, a long answer, what
/// the client expects, and the class that it named. New tokens and answer describe one request, so they do not count
/// for a prefix that six requests or more have used.
inline std::size_t class_of(const Use& use) {
  const std::size_t expected = use.hints & hint::kSessionEnded ? 2 : use.hints & hint::kToolCallPending ? 1 : 0;
  const std::size_t uses = uses_of(use.count) | expected << kHintAt | std::size_t{hint::class_in(use.hints)} << 9;
  return uses | (uses_in(uses) > 2 ? kAnyNews : news_of(use.fresh) | std::size_t{use.answer >= 128} << 3) << 3;
}
inline std::size_t hint_in(std::size_t of_class) { return of_class >> kHintAt; }
inline bool session_ended_in(std::size_t of_class) { return (hint_in(of_class) & 3) == 2; }

}  // namespace canopy::hazard
