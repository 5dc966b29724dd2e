#pragma once

#include <array>
#include <cstdint>
#include <iterator>

namespace canopy {

/// How a fetch went.
enum class FetchOutcome : std::uint8_t {
  whole,      ///< all that the tier has of the prefix beyond the pools
  cut,        ///< its front part: the pools had room for no more
  joined,     ///< another fetch brings the same
  nothing,    ///< the tier has no more than the pools
  too_short,  ///< what it has beyond the pools is shorter than `least`
  no_room,    ///< the pools had no room
};
inline constexpr const char* kFetchOutcomes[] = {"whole", "cut", "joined", "nothing", "too_short", "no_room"};
inline constexpr std::size_t kFetchOutcomeCount = std::size(kFetchOutcomes);

/// What moved between the pools and the tier below, since the engine was made. Tokens of the first group unless they
/// say otherwise.
struct TierFigures {
  std::uint64_t written_tokens = 0, written_bytes = 0;  ///< copied to the tier; bytes of all groups
  std::uint64_t loaded_tokens = 0, loaded_bytes = 0;    ///< copied from it
  std::uint64_t dropped_tokens = 0;  ///< not copied: too much was in flight, or the tier had no page for it
  std::uint64_t lost_tokens = 0;     ///< copied for nothing: what precedes it had left the tier, or was flushed
  std::array<std::uint64_t, kFetchOutcomeCount> fetches{};  ///< by outcome
  /// Copies that have begun and not ended.
  struct Queue {
    std::uint32_t copies = 0;
    std::uint64_t bytes = 0;
    void add(std::uint64_t more) { ++copies, bytes += more; }
    void take(std::uint64_t ended) { --copies, bytes -= ended; }
  };
  Queue storing, loading;    ///< to the tier, from it
  std::uint64_t now_us = 0;  ///< what Engine::turn was told last
};

}  // namespace canopy
