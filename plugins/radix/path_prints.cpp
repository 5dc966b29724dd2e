#include "path_prints.h"

#include <canopy/helpers/prefix_print.h>

#include <algorithm>
#include <array>

namespace canopy::radix {
std::span<const std::uint64_t> PathPrints::of(Slot slot) {
  const Node& last = nodes_[slot];
  const std::size_t count = last.end() / kPrintStride;
  const bool known = nodes_.id(slot) == above_;
  above_ = nodes_[last.parent].parent ? nodes_.id(last.parent) : NodeId::none;
  if (known) return {prints_.data(), count};

  path_.clear_but_keep(kUsualPath);
  prints_.clear();
  if (!prints_.reserve(count)) return above_ = NodeId::none, std::span<const std::uint64_t>();
  for (Slot at = slot; nodes_[at].parent; at = nodes_[at].parent) {
    if (!path_.reserve(path_.size() + 1)) return above_ = NodeId::none, std::span<const std::uint64_t>();
    path_.push_back(at);
  }
  std::uint64_t print = first_print(last.space);
  std::array<std::uint32_t, kPrintStride> stride;
  std::size_t filled = 0;
  for (std::size_t i = path_.size(); i-- > 0 && prints_.size() < count;) {
    const Node& node = nodes_[path_[i]];
    const std::uint32_t* words = runs_.words(node);
    for (std::size_t left = node.length; left > 0;) {
      const std::size_t taken = std::min(left, kPrintStride - filled);
      std::copy_n(words, taken, stride.begin() + static_cast<std::ptrdiff_t>(filled));
      words += taken, left -= taken, filled += taken;
      if (filled < kPrintStride) break;
      prints_.push_back(print = next_print(print, stride.data()));
      filled = 0;
    }
  }
  return {prints_.data(), prints_.size()};
}

}  // namespace canopy::radix
