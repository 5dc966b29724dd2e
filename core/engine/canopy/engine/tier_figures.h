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
  not_worth,  ///< computing it is faster
};
inline constexpr const char* kFetchOutcomes[] = {"whole",     "cut",     "joined",   "nothing",
                                                 "too_short", "no_room", "not_worth"};
inline constexpr std::size_t kFetchOutcomeCount = std::size(kFetchOutcomes);

/// What became of a fetch that something came of.
enum class FetchEnd : std::uint8_t {
  used,    ///< a request began when all of it was there
  late,    ///< a request began before that, and computes what was missing then
  unused,  ///< no request began on it: it was given up, and may have been evicted since
};
inline constexpr const char* kFetchEnds[] = {"used", "late", "unused"};
inline constexpr std::size_t kFetchEndCount = std::size(kFetchEnds);

/// What moved between the pools and the tier below, since the engine was made. Tokens of the first group unless they
/// say otherwise.
struct TierFigures {
  std::uint64_t written_tokens = 0, written_bytes = 0;  ///< copied to the tier; bytes of all groups
  std::uint64_t loaded_tokens = 0, loaded_bytes = 0;    ///< copied from it
  std::uint64_t dropped_tokens = 0;  ///< not copied: too much was in flight, or the tier had no page for it
  std::uint64_t lost_tokens = 0;     ///< copied for nothing: what precedes it had left the tier, or was flushed
  std::array<std::uint64_t, kFetchOutcomeCount> fetches{};  ///< by outcome
  std::array<std::uint64_t, kFetchEndCount> ends{};         ///< by what became of them; a request counts each
  std::uint64_t took_us = 0;   ///< of those used and late: Fetch::took_us when their request began
  std::uint64_t saved_us = 0;  ///< that computing would have taken what was used; 0 if the engine does not know
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

/// How it went to bring a prefix from the storage to the host tier.
enum class BringOutcome : std::uint8_t {
  whole,      ///< all that was found came
  cut,        ///< its front part: the host tier had room for no more
  nothing,    ///< the storage has nothing that continues the prefix
  too_short,  ///< what it has is shorter than `least`
  no_room,    ///< the host tier had no room
  gone,       ///< a record that was found, or what precedes it in the tiers above, was not there any more
  damaged,    ///< a record was not the one that it should be
  late,       ///< an answer or a record did not come in its time
  failed,     ///< the storage failed
  refused,    ///< it was not asked, because it failed too often
  joined,     ///< the same is on its way already
  not_worth,  ///< computing it is faster, by what the storage takes
};
inline constexpr const char* kBringOutcomes[] = {"whole",   "cut",  "nothing", "too_short", "no_room", "gone",
                                                 "damaged", "late", "failed",  "refused",   "joined",  "not_worth"};
inline constexpr std::size_t kBringOutcomeCount = std::size(kBringOutcomes);

/// What moved between the host tier and the storage below it, since the engine was made. Tokens of the first group, and
/// bytes of all groups.
struct StorageFigures {
  std::uint64_t written_tokens = 0, written_bytes = 0;  ///< put, and kept or there already
  std::uint64_t unkept_tokens = 0;                      ///< put, and not kept: it was full, late or failed
  std::uint64_t read_tokens = 0, read_bytes = 0;        ///< got, and in the host tier since
  std::uint64_t dropped_tokens = 0;                     ///< evicted for room from the host tier, and not put
  std::uint64_t damaged_records = 0;
  std::uint64_t breaks = 0;                                ///< times that the engine stopped calling the storage
  std::array<std::uint64_t, kBringOutcomeCount> brings{};  ///< by outcome
  std::uint64_t outwaited = 0;  ///< fetches that went on without it, since it took longer than computing
};

}  // namespace canopy
