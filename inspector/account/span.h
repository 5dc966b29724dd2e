#pragma once

#include <mirror/mirror_request.h>

#include <array>
#include <cstdint>
#include <string>

namespace canopy::inspector {

/// A moment of the feed; commit 0: not reached.
struct HistoryMoment {
  std::uint64_t commit = 0, us = 0;
  explicit operator bool() const { return commit != 0; }
};

/// The life of a request: it counts once it is admitted, waits until its first progress, computes its prompt, and
/// decodes until it ends. A retracted request waits until it is resumed.
struct RequestSpan {
  std::uint64_t id = 0;
  std::uint32_t tenant = 0;                           ///< row of History::tenants()
  std::uint32_t prompt = 0, matched = 0, missed = 0;  ///< tokens
  std::uint32_t evicted_part = 0;                     ///< missed tokens that had been evicted
  std::uint32_t retractions = 0;
  std::uint8_t reason = 0, rest = 0;  ///< reasons of that part, and of the rest of the missed tokens; see reason_name()
  RequestPhase phase = RequestPhase::running;
  HistoryMoment begun, admitted, started, computed, ended;  ///< computed: its whole prompt
  HistoryMoment retracted, resumed;                         ///< moments of its latest retraction
};

/// A time of which events were lost: between the last commit that was seen before, and the keyframe after it.
struct LostStretch {
  HistoryMoment from, until;
};

/// Something that changed how the cache behaves.
struct HistoryMark {
  enum class Kind : std::uint8_t { policy, limit, flush, lost, server, control, damaged };
  Kind kind{};
  HistoryMoment at;
  std::string text;
};
inline constexpr std::array<const char*, 7> kMarkNames = {"policy", "limit",   "flush",       "lost",
                                                          "server", "control", "damaged here"};

}  // namespace canopy::inspector
