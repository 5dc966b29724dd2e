#include "tier_words.h"

#include <canopy/support/figures.h>
#include <fmt/format.h>

namespace canopy::inspector {

std::string breaker_words(const event::StorageHealth& health, std::uint64_t now_us) {
  switch (health.state) {
    case StorageState::closed:
      return health.breaks == 0 ? "called" : fmt::format("called again, {} breaks so far", grouped(health.breaks));
    case StorageState::half_open:
      return "on trial: one call at a time";
    case StorageState::open:
      break;
  }
  if (health.until_us == kUnlimited) return "not called any more";
  const std::uint64_t left = health.until_us > now_us ? health.until_us - now_us : 0;
  return fmt::format("not called for another {:.1f} s", static_cast<double>(left) / 1e6);
}

std::string room_words(const event::StorageRoom& room) {
  if (room.records == kUnlimited) return "how many records it has is not known";
  const std::string of = room.capacity == kUnlimited ? "" : " of " + bytes(room.capacity);
  return fmt::format("{}, {}{}", plural(room.records, "record"),
                     room.used == kUnlimited ? "bytes not known" : bytes(room.used), of);
}

std::string call_words(const event::StorageSpeed& speed) {
  if (speed.call_us == 0) return "under 1 us";
  return speed.call_us < 10'000 ? grouped(speed.call_us) + " us" : grouped(speed.call_us / 1000) + " ms";
}

std::string fetch_time_words(const event::TierEnds& ends) {
  const std::uint64_t begun = std::uint64_t{ends.by_end[0]} + ends.by_end[1];
  if (begun == 0) return {};
  const auto text = [](std::uint64_t us) { return duration(static_cast<double>(us) / 1e6); };
  return fmt::format("took {} on average{}", text(ends.took_us / begun),
                     ends.saved_us == 0 ? "" : ", saved " + text(ends.saved_us) + " of prefill");
}

std::string ranks_words(const event::StorageRanks& ranks) {
  if (ranks.stopped) return "they did not agree: nothing moves between the tiers any more";
  return fmt::format("{} wait for other ranks, {} ended worse there", plural(ranks.awaited, "call"),
                     grouped(ranks.worse));
}

std::string counted_words(std::span<const std::uint32_t> counts, std::span<const char* const> words) {
  std::string text;
  for (std::size_t i = 0; i < counts.size(); ++i)
    if (counts[i] != 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", grouped(counts[i]), words[i]);
  return text.empty() ? "none" : text;
}

}  // namespace canopy::inspector
