#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "slot_files.h"

namespace canopy::slots {

/// Free slots, as runs of adjacent slots.
class FreeSlots {
 public:
  struct Run {
    Slot first = 0, count = 0;
  };

  std::uint64_t size() const { return size_; }
  std::size_t runs() const { return by_first_.size(); }
  /// Returns true if visit(first, count) returned true for each run; stops at the first false.
  template <class Visit>
  bool all(Visit&& visit) const {
    return std::all_of(by_first_.begin(), by_first_.end(),
                       [&](const auto& run) { return visit(run.first, run.second); });
  }
  /// Adds free slots. REQUIRES: none of them is in the set.
  void add(Slot first, Slot count) {
    size_ += count;
    const auto behind = by_first_.lower_bound(first);
    if (behind != by_first_.end() && behind->first == first + count) {
      count += behind->second;
      drop(behind);
    }
    const auto after = by_first_.lower_bound(first);
    if (after != by_first_.begin()) {
      const auto before = std::prev(after);
      if (before->first + before->second == first) {
        first = before->first;
        count += before->second;
        drop(before);
      }
    }
    by_first_[first] = count;
    by_count_.insert({count, first});
  }
  /// Takes at most `most` adjacent slots, from the smallest run with that many, or else from the largest run. REQUIRES:
  /// size() > 0.
  Run take(Slot most) {
    auto chosen = by_count_.lower_bound({most, 0});
    if (chosen == by_count_.end()) chosen = std::prev(chosen);
    const auto [count, first] = *chosen;
    const Run taken{first, std::min(count, most)};
    drop(by_first_.find(first));
    size_ -= taken.count;
    if (taken.count < count) {
      by_first_[first + taken.count] = count - taken.count;
      by_count_.insert({count - taken.count, first + taken.count});
    }
    return taken;
  }

 private:
  void drop(std::map<Slot, Slot>::iterator run) {
    by_count_.erase({run->second, run->first});
    by_first_.erase(run);
  }

  std::uint64_t size_ = 0;
  std::map<Slot, Slot> by_first_;             ///< count by first slot
  std::set<std::pair<Slot, Slot>> by_count_;  ///< count and first slot
};

}  // namespace canopy::slots
