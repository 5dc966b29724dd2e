#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "mirror_state.h"

namespace canopy::inspector {

/// For people, in the order of the events' fields.
inline constexpr std::array<const char*, std::tuple_size_v<decltype(event::TierFetches::by_outcome)>> kFetchWords = {
    "whole", "cut: no room", "joined", "nothing there", "too short", "no room at all", "computing is faster"};
inline constexpr std::array<const char*, event::TierEnds::kEnds> kEndWords = {"used whole", "begun on before the end",
                                                                              "given up"};
inline constexpr std::array<const char*, event::StorageBrings::kOutcomes> kBringWords = {
    "whole",   "cut: no room", "nothing there", "too short",           "no room at all", "gone meanwhile",
    "damaged", "late",         "failed",        "refused: not called", "joined",         "computing is faster"};
inline constexpr std::array<const char*, 5> kFateWords = {"done", "absent", "full", "late", "failed"};

/// "not called for another 0.4 s". `now_us`: as Engine::turn was told.
std::string breaker_words(const event::StorageHealth& health, std::uint64_t now_us);
/// "took 4.2 ms on average, saved 65 s of prefill"; empty if no request has begun on a fetch.
std::string fetch_time_words(const event::TierEnds& ends);
/// "under 1 us", "340 us", "22 ms": what a call takes.
std::string call_words(const event::StorageSpeed& speed);
/// "1,204 records, 1.2 GiB of 4.0 GiB"; says so where the storage does not tell.
std::string room_words(const event::StorageRoom& room);
/// "2 calls wait for other ranks, 14 ended worse there"; says so where the ranks have stopped.
std::string ranks_words(const event::StorageRanks& ranks);
/// "310 done, 2 late": what is 0 is left out. "none" if all are. REQUIRES: a word for each count.
std::string counted_words(std::span<const std::uint32_t> counts, std::span<const char* const> words);

}  // namespace canopy::inspector
