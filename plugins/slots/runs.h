#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "slot_files.h"

namespace canopy::slots {

using RunIndex = std::uint32_t;
inline constexpr RunIndex kNoRun = ~RunIndex{0};

/// Runs of records that were put together, in the order of their path, and the order of eviction: the least recently
/// used run first, each from its end. A use of a run also counts for the runs that it continues, just after it. So a
/// prefix is shortened from its end and never loses its beginning first.
class Runs {
 public:
  explicit Runs(Slot slots) : links_(slots) {}

  struct Run {
    std::uint64_t number = 0;         ///< 0: unused element
    RunIndex parent = kNoRun;         ///< run that this one continues, valid while that run has parent_number
    std::uint64_t parent_number = 0;  ///< 0: no parent
    Slot first = kNoSlot, last = kNoSlot;
    RunIndex older = kNoRun, newer = kNoRun;
    std::uint64_t used = 0;  ///< value of uses() at its last use
  };

  /// Begins an empty run, used just now. `parent`: the run that it continues, or kNoRun.
  RunIndex begin(std::uint64_t number, RunIndex parent);
  void append(RunIndex run, Slot slot);
  /// Restores the runs of a table. `slots`: sorted by run and by position in a run. `numbers(slot)`: the numbers of the
  /// run and its parent. Runs count as used when they, or a run that continues them, were put. REQUIRES: there are no
  /// runs.
  void restore(const std::vector<Slot>& slots,
               const std::function<std::pair<std::uint64_t, std::uint64_t>(Slot)>& numbers);
  /// Removes a record from its run; an empty run ends. Takes no memory.
  void remove(Slot slot);

  const Run& operator[](RunIndex run) const { return runs_[run]; }
  RunIndex of(Slot slot) const { return links_[slot].run; }
  /// Marks the run and those that it continues as used.
  void use(RunIndex run);
  /// Returns the number of uses of all runs.
  std::uint64_t uses() const { return uses_; }
  /// Returns the record to evict first, or kNoSlot if there is none.
  Slot victim() const { return oldest_ == kNoRun ? kNoSlot : runs_[oldest_].last; }

 private:
  struct Link {
    RunIndex run = kNoRun;
    Slot before = kNoSlot, after = kNoSlot;
  };
  void unlink(RunIndex run);
  void make_newest(RunIndex run);

  std::vector<Run> runs_;
  std::vector<RunIndex> unused_;
  std::vector<Link> links_;
  RunIndex oldest_ = kNoRun, newest_ = kNoRun;
  std::uint64_t uses_ = 0;
};

}  // namespace canopy::slots
