#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "slot_files.h"

namespace canopy::slots {

using RunIndex = std::uint32_t;
inline constexpr RunIndex kNoRun = ~RunIndex{0};

/// Records that were put together, in the order of their path, and the order in which runs are given up: the least
/// recently used one first, each from its end. A run is used with those that it continues, which count as used after
/// it: so a prefix is shortened, and never loses its beginning first.
class Runs {
 public:
  explicit Runs(Slot slots) : links_(slots) {}

  struct Run {
    std::uint64_t number = 0;         ///< 0: no run is here
    RunIndex parent = kNoRun;         ///< the run that this one continues, while it has parent_number
    std::uint64_t parent_number = 0;  ///< 0: none
    Slot first = kNoSlot, last = kNoSlot;
    RunIndex older = kNoRun, newer = kNoRun;
    std::uint64_t used = 0;  ///< which use of any run was its last
  };

  /// A run without records, used just now. `parent`: the run that it continues, or kNoRun.
  RunIndex begin(std::uint64_t number, RunIndex parent);
  void append(RunIndex run, Slot slot);
  /// Makes the runs of a table that was read. `slots`: by run, and by position in a run. `numbers(slot)`: the run's and
  /// its parent's. Runs count as used when they, or a run that continues them, were put. REQUIRES: there are no runs.
  void restore(const std::vector<Slot>& slots,
               const std::function<std::pair<std::uint64_t, std::uint64_t>(Slot)>& numbers);
  /// Takes a record out of its run; a run without records ends.
  void remove(Slot slot);

  const Run& operator[](RunIndex run) const { return runs_[run]; }
  RunIndex of(Slot slot) const { return links_[slot].run; }
  /// The run is used, and so are those that it continues.
  void use(RunIndex run);
  /// How often runs were used until now.
  std::uint64_t uses() const { return uses_; }
  /// The record to give up first; kNoSlot: there is none.
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
