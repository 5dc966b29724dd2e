#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "hold.h"

namespace canopy::python {

/// An index with groups beside the whole-path group: windows and recurrent states. Its pages are numbers of its own,
/// dense per group and recycled, for a caller that has a table from these to its slots in each group.
class GroupIndex final : public Index {
 public:
  explicit GroupIndex(const Settings& settings) : Index(settings) {}

  /// Hands out the numbers of a group, from 1 on.
  class Numbers {
   public:
    Page take() {
      if (free_.empty()) {
        // There is always room for all numbers, so that none is lost when it comes back.
        if (free_.capacity() <= last_) free_.reserve(std::max<std::size_t>(2 * free_.capacity(), kFewest));
        return ++last_;
      }
      const Page number = free_.back();
      free_.pop_back();
      return number;
    }
    void give_back(std::span<const Page> numbers) { free_.insert(free_.end(), numbers.begin(), numbers.end()); }
    void give_back(Page number) { free_.push_back(number); }
    void clear() { free_.clear(), last_ = 0; }

   private:
    static constexpr std::size_t kFewest = 64;
    Page last_ = 0;
    std::vector<Page> free_;
  };
  Numbers& numbers(std::size_t group) { return numbers_[group]; }

 private:
  std::array<Numbers, kMaxGroups> numbers_;
};

void bind_group_index(nb::module_& module);

}  // namespace canopy::python
