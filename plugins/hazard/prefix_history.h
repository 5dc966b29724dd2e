#pragma once

#include <canopy/helpers/prefetch.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace canopy::hazard {

/// Remembers which prefixes were used and how often, long after their nodes were evicted. A print belongs to one line
/// of four places, of a table with four places for each prefix of the limit; in a full line the prefix is forgotten
/// that was used longest ago. So of the last `limit` prefixes hardly any is forgotten.
class PrefixHistory {
 public:
  static constexpr std::uint64_t kMostLife = (std::uint64_t{1} << 56) - 1;
  struct Entry {
    std::uint64_t print = 0;
    std::uint64_t life : 56 = 0;  ///< life of the last use; 0: the request is being looked up
    std::uint64_t count : 8 = 0;  ///< uses; 0: it is new
  };

  PrefixHistory() { limit(1); }
  /// Enlarges the table for this number of prefixes.
  void limit(std::size_t prefixes) {
    if (prefixes <= lines_.size()) return;
    const std::vector<Line> before =
        std::exchange(lines_, std::vector<Line>(std::bit_ceil(std::max(prefixes, kLeast))));
    shift_ = 64 - std::countr_zero(lines_.size());
    for (const Line& line : before)
      for (const Entry& entry : line)
        if (entry.count != 0) use(entry.print) = entry;
  }
  /// Returns the entry of a prefix. A later call may give it to another prefix.
  Entry& use(std::uint64_t print) {
    Line& line = lines_[line_of(print)];
    Entry* oldest = line.data();
    for (Entry& entry : line) {
      if (entry.count == 0 || entry.print == print) return entry.print = print, entry;
      if (entry.life - 1 < oldest->life - 1) oldest = &entry;
    }
    return *oldest = {.print = print};
  }
  /// Prefetches the memory that `use` will read for prints[at].
  void prefetch(std::span<const std::uint64_t> prints, std::size_t at) const {
    if (at < prints.size()) canopy::prefetch(&lines_[line_of(prints[at])]);
  }

 private:
  struct alignas(64) Line : std::array<Entry, 4> {};
  static constexpr std::size_t kLeast = 1024;
  std::size_t line_of(std::uint64_t print) const {
    return static_cast<std::size_t>((print * 0x9E3779B97F4A7C15U) >> shift_);
  }
  std::vector<Line> lines_;  ///< size is a power of two
  int shift_ = 0;
};

}  // namespace canopy::hazard
