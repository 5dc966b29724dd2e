/// The reasons why figures of a mirror may not be those of the engine.
#include <canopy/base/figures.h>
#include <fmt/format.h>

#include <algorithm>

#include "mirror.h"

namespace canopy::inspector {

Doubts Mirror::doubts() const {
  Doubts doubts;
  const auto add = [&](Doubt::Kind kind, std::uint64_t count, const char* sentence, const std::string& what) {
    if (count == 0) return;
    doubts.push_back({kind, count, fmt::format(fmt::runtime(sentence), what)});
    if (kind == Doubt::Kind::damaged)
      doubts.back().sentence +=
          fmt::format("; seen first at commit {}: from there on, figures may be false", grouped(state_.first_damage));
  };
  std::uint64_t damaged = state_.damaged, unknown = state_.unknown_events;
  for (const Mirror& below : below_) damaged += below.damaged(), unknown += below.unknown_events();
  add(Doubt::Kind::damaged, state_.most_drift,
      "the events do not add up to the engine's own sums: a drift of {}, where 0 is expected",
      plural(state_.most_drift, "page"));
  add(Doubt::Kind::damaged, damaged,
      "{} with impossible figures: the file was damaged, or another process has written into the feed",
      plural(damaged, "event"));
  add(Doubt::Kind::lost, unknown, "{} of kinds that this version does not know, which were left out",
      plural(unknown, "event"));
  add(Doubt::Kind::lost, state_.losses, "events came faster than they were read, {}: what happened then is not counted",
      plural(state_.losses, "time"));
  std::uint64_t refused = 0;
  for (const std::uint64_t pages : state_.counters.all(Counter::refused_pages_host)) refused += pages;
  add(Doubt::Kind::memory, refused,
      "the system refused memory for {} of the engine's host tier, which keeps less than configured",
      plural(refused, "page"));
  return doubts;
}

}  // namespace canopy::inspector
