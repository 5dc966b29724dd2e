#include "runs.h"

#include <algorithm>

namespace canopy::slots {

RunIndex Runs::begin(std::uint64_t number, RunIndex parent) {
  RunIndex run;
  if (unused_.empty()) {
    run = static_cast<RunIndex>(runs_.size());
    runs_.emplace_back();
    unused_.reserve(runs_.capacity());  // remove() takes no memory
  } else {
    run = unused_.back();
    unused_.pop_back();
  }
  runs_[run] = {};
  runs_[run].number = number;
  if (parent != kNoRun) {
    runs_[run].parent = parent;
    runs_[run].parent_number = runs_[parent].number;
  }
  make_newest(run);
  if (parent != kNoRun) use(parent);
  return run;
}

void Runs::restore(const std::vector<Slot>& slots,
                   const std::function<std::pair<std::uint64_t, std::uint64_t>(Slot)>& numbers) {
  for (const Slot slot : slots) {
    const auto [number, parent] = numbers(slot);
    if (runs_.empty() || runs_.back().number != number) {
      runs_.emplace_back();
      runs_.back().number = number;
      runs_.back().parent_number = parent;
    }
    append(static_cast<RunIndex>(runs_.size() - 1), slot);
  }
  unused_.reserve(runs_.capacity());
  // A run that continues another is the younger one, so its parent comes before it.
  std::vector<std::uint64_t> last_use(runs_.size());
  std::vector<RunIndex> order(runs_.size());
  for (std::size_t i = runs_.size(); i-- > 0;) {
    Run& run = runs_[i];
    order[i] = static_cast<RunIndex>(i);
    last_use[i] = std::max(last_use[i], run.number);
    const auto parent =
        std::lower_bound(runs_.begin(), runs_.begin() + static_cast<std::ptrdiff_t>(i), run.parent_number,
                         [](const Run& one, std::uint64_t number) { return one.number < number; });
    if (run.parent_number == 0 || parent->number != run.parent_number || &*parent == &run) continue;
    run.parent = static_cast<RunIndex>(parent - runs_.begin());
    last_use[run.parent] = std::max(last_use[run.parent], last_use[i]);
  }
  std::sort(order.begin(), order.end(), [&](RunIndex one, RunIndex other) {
    return last_use[one] != last_use[other] ? last_use[one] < last_use[other] : one > other;
  });
  for (const RunIndex run : order) make_newest(run);
}

void Runs::append(RunIndex run, Slot slot) {
  Run& to = runs_[run];
  links_[slot] = {run, to.last, kNoSlot};
  (to.last == kNoSlot ? to.first : links_[to.last].after) = slot;
  to.last = slot;
}

void Runs::remove(Slot slot) {
  const Link link = links_[slot];
  links_[slot] = {};
  Run& from = runs_[link.run];
  (link.before == kNoSlot ? from.first : links_[link.before].after) = link.after;
  (link.after == kNoSlot ? from.last : links_[link.after].before) = link.before;
  if (from.first != kNoSlot) return;
  unlink(link.run);
  from.number = 0;
  unused_.push_back(link.run);
}

void Runs::use(RunIndex run) {
  while (run != kNoRun) {
    unlink(run);
    make_newest(run);
    // A run has a smaller number than one that continues it, so the loop ends.
    const RunIndex parent = runs_[run].parent;
    const bool there = parent != kNoRun && runs_[parent].number == runs_[run].parent_number;
    run = there && runs_[parent].number < runs_[run].number ? parent : kNoRun;
  }
}

void Runs::unlink(RunIndex run) {
  const Run& of = runs_[run];
  (of.older == kNoRun ? oldest_ : runs_[of.older].newer) = of.newer;
  (of.newer == kNoRun ? newest_ : runs_[of.newer].older) = of.older;
}

void Runs::make_newest(RunIndex run) {
  runs_[run].older = newest_;
  runs_[run].newer = kNoRun;
  (newest_ == kNoRun ? oldest_ : runs_[newest_].newer) = run;
  newest_ = run;
  runs_[run].used = ++uses_;
}

}  // namespace canopy::slots
