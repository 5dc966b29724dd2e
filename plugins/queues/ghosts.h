#pragma once

#include <canopy/eviction_strategy.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <span>
#include <unordered_map>

namespace canopy::queues {

/// Returns the strides of a path that end in a node.
inline std::span<const std::uint64_t> strides_in(const NodeFacts& node, std::span<const std::uint64_t> path) {
  const std::size_t end = std::min(path.size(), (std::size_t{node.begin} + node.length) / kPrintStride);
  const std::size_t first = std::min<std::size_t>(end, node.begin / kPrintStride);
  return path.subspan(first, end - first);
}

/// Evicted prefixes, by their prints: first in, first out. A node in which no stride ends leaves no ghost.
class Ghosts {
 public:
  /// Adds the strides of a node that is evicted for lack of room. A flushed prefix gets no advantage when it returns.
  void add(const NodeFacts& node, const Eviction& eviction) {
    if (!is_for_room(eviction.cause)) return;
    for (const std::uint64_t print : strides_in(node, eviction.prefix_prints)) {
      order_.push_back({print, ++last_});
      stamps_[print] = last_;
    }
  }
  /// Takes the strides out and returns how many of them were here.
  std::size_t take(std::span<const std::uint64_t> strides) {
    std::size_t found = 0;
    for (const std::uint64_t print : strides) found += stamps_.erase(print);
    return found;
  }
  /// Forgets the oldest until the ghosts stand for at most `tokens` tokens.
  void trim(std::uint64_t tokens) {
    while (!order_.empty() && (this->tokens() > tokens || order_.size() > 2 * stamps_.size() + 64)) {
      const auto at = stamps_.find(order_.front().print);
      if (at != stamps_.end() && at->second == order_.front().stamp) stamps_.erase(at);
      order_.pop_front();
    }
  }
  std::uint64_t tokens() const { return stamps_.size() * std::uint64_t{kPrintStride}; }
  void clear() {
    order_.clear();
    stamps_.clear();
  }

 private:
  struct Entry {
    std::uint64_t print, stamp;
  };
  std::deque<Entry> order_;                                  ///< oldest first, including those that were taken out
  std::unordered_map<std::uint64_t, std::uint64_t> stamps_;  ///< stamp of the last entry of each print
  std::uint64_t last_ = 0;
};

}  // namespace canopy::queues
