#pragma once

#include <canopy/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace canopy::inspector {

/// Tokens of one prefix. A node that was evicted and came back is the same prefix (MirrorNode::lineage).
struct PrefixFigure {
  std::uint64_t lineage = 0;
  std::uint64_t node = 0, commit = 0;  ///< its latest node, and that node's latest commit
  NamespaceId space{};
  Units begin = 0, length = 0;
  std::uint64_t times = 0;
  /// Tokens, of which at most `over` may be another prefix's. At least tokens - over are this one's.
  std::uint64_t tokens = 0, over = 0;
  std::uint64_t sure() const { return tokens - over; }
};

/// The prefixes with most tokens, in constant memory: Space-Saving (Metwally, 2005). A prefix that is not in the list
/// takes the place of the one with the fewest tokens, and its own figure then may be too high by those.
class TopPrefixes {
 public:
  static constexpr std::size_t kMost = 12;

  /// Adds the figure's tokens and times to those of its prefix. O(kMost).
  void add(const PrefixFigure& figure);
  void add(const TopPrefixes& other) {
    for (const PrefixFigure& figure : other.all()) add(figure);
  }
  std::span<const PrefixFigure> all() const { return {figures_.data(), size_}; }  ///< in no particular order

 private:
  std::size_t size_ = 0;
  std::array<std::uint64_t, kMost> lineages_{};
  std::array<PrefixFigure, kMost> figures_{};
};

}  // namespace canopy::inspector
