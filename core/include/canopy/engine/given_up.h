#pragma once

#include <canopy/types.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace canopy {

/// Pages of a group that an index has given up and that its caller has not taken yet, oldest first. Room for them is
/// made before the index gets pages, so giving up needs no memory and loses none.
class GivenUp {
 public:
  /// Makes room for so many pages beside those that are kept: all that the index has, and those that it gets now.
  void make_room(std::size_t pages) {
    if (pages_.size() + pages <= pages_.capacity()) return;
    if (taken_ > left())
      pages_.erase(pages_.begin(), pages_.begin() + static_cast<std::ptrdiff_t>(std::exchange(taken_, 0)));
    if (pages_.size() + pages > pages_.capacity())
      pages_.reserve(std::max(pages_.size() + pages, 2 * pages_.capacity()));
  }
  void keep(std::span<const Page> pages) { pages_.insert(pages_.end(), pages.begin(), pages.end()); }
  std::size_t left() const { return pages_.size() - taken_; }
  /// Returns the pages that are left. Valid until the next call that is not const.
  std::span<const Page> pages() const { return std::span(pages_).subspan(taken_); }
  /// Copies at most `room` pages to `to`, which are taken then. Returns their number.
  std::size_t take(Page* to, std::size_t room) {
    const std::size_t count = std::min(room, left());
    std::copy_n(pages_.begin() + static_cast<std::ptrdiff_t>(taken_), count, to);
    taken_ += count;
    if (left() == 0) clear();
    return count;
  }
  void clear() { pages_.clear(), taken_ = 0; }

 private:
  std::vector<Page> pages_;
  std::size_t taken_ = 0;  ///< pages at the front that the caller has
};

}  // namespace canopy
