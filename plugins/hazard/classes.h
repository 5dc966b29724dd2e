#pragma once

#include <canopy/eviction_strategy.h>

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

/// Uses are counted in classes, and each class learns separately at which ages its prefixes are used again. Hints are
/// one of the four dimensions: their value is learned too, so wrong hints have no effect.
inline constexpr std::size_t kAccesses = 4;      ///< used once, twice, 3 to 5 times, more often
inline constexpr std::size_t kNews = 5;          ///< new tokens: below 640, 1280, 3072, 8192; more
inline constexpr std::size_t kAnswers = 2;       ///< below 128 tokens; longer
inline constexpr std::size_t kExpectations = 3;  ///< no hint; a tool call is pending; the session ended
inline constexpr std::size_t kHints = kExpectations * (hint::kMostClass + 1);
inline constexpr std::size_t kClassesOfHint = kAccesses * kNews * kAnswers;
inline constexpr std::size_t kClasses = kHints * kClassesOfHint;

/// Counts from here on are equivalent.
inline constexpr std::uint32_t kMostCount = 6;

inline std::size_t access_of(std::uint32_t count) {
  return count <= 1 ? 0 : count == 2 ? 1 : count < kMostCount ? 2 : 3;
}
inline std::size_t news_of(std::uint32_t fresh) {
  return fresh < 640 ? 0 : fresh < 1280 ? 1 : fresh < 3072 ? 2 : fresh < 8192 ? 3 : 4;
}
inline std::size_t hint_of(std::uint64_t hints) {
  const std::size_t expectation = hints & hint::kSessionEnded ? 2 : hints & hint::kToolCallPending ? 1 : 0;
  return expectation * (hint::kMostClass + 1) + hint::class_in(hints);
}

/// Returns the class of a use, below kClasses.
inline std::size_t class_of(const Use& use) {
  const std::size_t answer = use.answer < 128 ? 0 : 1;
  return ((hint_of(use.hints) * kAnswers + answer) * kNews + news_of(use.fresh)) * kAccesses + access_of(use.count);
}
/// Returns the class that differs from `of_class` only in its count.
inline std::size_t class_with(std::size_t of_class, std::uint32_t count) {
  return of_class - of_class % kAccesses + access_of(count);
}
inline std::size_t access_in(std::size_t of_class) { return of_class % kAccesses; }
inline std::size_t hint_in(std::size_t of_class) { return of_class / kClassesOfHint; }
inline bool session_ended_in(std::size_t of_class) { return hint_in(of_class) / (hint::kMostClass + 1) == 2; }

}  // namespace canopy::hazard
