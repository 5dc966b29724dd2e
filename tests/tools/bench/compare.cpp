#include "report.h"

#include <fmt/format.h>

namespace canopy::bench {

std::optional<Change> change_since(const Report& old, const Row& row) {
  for (const Row& before : old.rows) {
    if (before.name != row.name || before.kind != row.kind) continue;
    if (before.ours.median == 0) return Change{};
    return Change{row.ours.median / before.ours.median - 1,
                  row.ours.low > before.ours.high || row.ours.high < before.ours.low};
  }
  return std::nullopt;
}

std::optional<std::string> cannot_compare(const Report& old, const Report& now) {
  if (old.quick != now.quick)
    return "one of the two reports was made with --quick: their trees and replays differ in size";
  if (!old.source.empty() && !now.source.empty() && old.source != now.source)
    return fmt::format("the replays of the two reports differ: {} then, {} now", old.source, now.source);
  return std::nullopt;
}

}  // namespace canopy::bench
