#pragma once

#include <canopy/types.h>

namespace canopy::radix {

/// The pages that the caller of an insert passed: for each group, one number for every page of units from depth `from`
/// on; 0 if the group has none.
class IncomingPages {
 public:
  IncomingPages(const GroupPages& pages, Units from, Units page_size, std::size_t groups)
      : pages_(pages), from_(from), page_size_(page_size), groups_(groups) {}

  Page page(std::size_t group, Units depth) const { return pages_[group][(depth - from_) / page_size_]; }
  /// Returns the pages of [begin, end).
  std::span<const Page> pages(std::size_t group, Units begin, Units end) const {
    return pages_[group].subspan((begin - from_) / page_size_, (end - begin) / page_size_);
  }
  /// Returns a mask. Bit g: group g has a page at this depth.
  std::uint32_t mask(Units depth) const {
    std::uint32_t mask = 0;
    for (std::size_t g = 0; g < groups_; ++g) mask |= std::uint32_t{page(g, depth) != 0} << g;
    return mask;
  }
  /// Returns the first depth after `depth`, at most `end`, at which the mask differs in a group of `among`.
  Units same_until(Units depth, Units end, std::uint32_t among) const {
    const std::uint32_t same = mask(depth) & among;
    do depth += page_size_;
    while (depth < end && (mask(depth) & among) == same);
    return depth;
  }
  /// Returns the number of depths below `limit` at which the mask changes: nodes must end there.
  std::size_t mask_changes(Units limit) const {
    std::size_t changes = 0;
    for (Units depth = from_ + page_size_; depth < limit; depth += page_size_)
      changes += mask(depth) != mask(depth - page_size_);
    return changes;
  }

 private:
  const GroupPages& pages_;
  Units from_, page_size_;
  std::size_t groups_;
};

}  // namespace canopy::radix
