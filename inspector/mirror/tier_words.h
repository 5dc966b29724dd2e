#pragma once

#include <canopy/feed/engine_events.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace canopy::inspector {

/// A line about a tier for people: "host load", "copies 2, 12 KiB queued".
struct TierLine {
  std::string label, text;
};
/// Returns all counters of a tier that are shown and not 0: one line for those without an axis, one for each group and
/// lane, one for each counter with outcomes. REQUIRES: a name for each group.
std::vector<TierLine> tier_lines(const CounterValues& counters, std::string_view tier,
                                 std::span<const std::string> groups);

/// Returns a counter's value in words: "written 1,240 tokens", "fetch took 4.2 s".
std::string counter_words(const CounterInfo& info, std::uint64_t value);
/// Returns counts in words, without zeros: "310 done, 2 late"; "none" if all are 0. REQUIRES: a name for each count.
std::string counted_words(std::span<const std::uint64_t> counts, std::span<const char* const> names);
/// Returns "not called for another 0.4 s". `now_us`: in the time of Engine::turn.
std::string breaker_words(const event::StorageHealth& health, std::uint64_t now_us);

}  // namespace canopy::inspector
