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
  /// Adds free slots. An exception changes nothing. REQUIRES: none of them is in the set.
  void add(Slot first, Slot count) {
    const auto next = by_first_.lower_bound(first);
    const auto before = next == by_first_.begin() ? by_first_.end() : std::prev(next);
    const bool joins = before != by_first_.end() && before->first + before->second == first;
    const bool joined = next != by_first_.end() && next->first == first + count;
    size_ += count;
    if (joins) {
      count += before->second + (joined ? next->second : 0);
      if (joined) drop(next);
      resize(before, before->first, count);
    } else if (joined) {
      resize(next, first, count + next->second);
    } else {
      try {
        const auto made = by_first_.emplace_hint(next, first, count);
        try {
          by_count_.insert({count, first});
        } catch (...) {
          by_first_.erase(made);
          throw;
        }
      } catch (...) {
        size_ -= count;
        throw;
      }
    }
  }
  /// Takes at most `most` adjacent slots, from the smallest run with that many, or else from the largest run. REQUIRES:
  /// size() > 0. Takes no memory.
  Run take(Slot most) {
    auto chosen = by_count_.lower_bound({most, 0});
    if (chosen == by_count_.end()) chosen = std::prev(chosen);
    const auto [count, first] = *chosen;
    const Run taken{first, std::min(count, most)};
    size_ -= taken.count;
    const auto run = by_first_.find(first);
    if (taken.count == count) drop(run);
    else resize(run, first + taken.count, count - taken.count);
    return taken;
  }

 private:
  using ByFirst = std::map<Slot, Slot>;
  void drop(ByFirst::iterator run) {
    by_count_.erase({run->second, run->first});
    by_first_.erase(run);
  }
  /// Changes a run. Takes no memory.
  void resize(ByFirst::iterator run, Slot first, Slot count) {
    auto counted = by_count_.extract({run->second, run->first});
    counted.value() = {count, first};
    by_count_.insert(std::move(counted));
    auto placed = by_first_.extract(run);
    placed.key() = first, placed.mapped() = count;
    by_first_.insert(std::move(placed));
  }

  std::uint64_t size_ = 0;
  ByFirst by_first_;                          ///< count by first slot
  std::set<std::pair<Slot, Slot>> by_count_;  ///< count and first slot
};

}  // namespace canopy::slots
