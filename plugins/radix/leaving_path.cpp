#include "leaving_path.h"

#include <algorithm>

namespace canopy::radix {

namespace {

constexpr std::size_t kUsualPath = std::size_t{1} << 17;  // words; memory for more is given back

}  // namespace

bool LeavingPath::read(Slot slot) {
  const Node& last = nodes_[slot];
  const std::size_t pages = last.end() / page_size_;
  words_.clear_but_keep(kUsualPath);
  for (std::size_t g = 0; g < groups_; ++g) pages_[g].clear_but_keep(kUsualPath / page_size_);
  if (!words_.resize(std::size_t{last.end()} + runs_.overlap())) return false;
  for (std::size_t g = 0; g < groups_; ++g)
    if (!pages_[g].resize(pages)) return false;
  // From the end on: what a node has behind its own words is overlap, which the node below it begins with.
  std::copy_n(runs_.words(last), last.length + runs_.overlap(), words_.data() + last.begin);
  for (Slot at = slot; nodes_[at].parent; at = nodes_[at].parent) {
    const Node& node = nodes_[at];
    if (at != slot) std::copy_n(runs_.words(node), node.length, words_.data() + node.begin);
    const Page* from = runs_.pages(node);
    const std::size_t first = node.begin / page_size_, count = node.length / page_size_;
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t g = 0; g < groups_; ++g) pages_[g][first + i] = *from++;
  }
  return true;
}

GroupPages LeavingPath::pages() const {
  GroupPages pages;
  for (std::size_t g = 0; g < groups_; ++g) pages[g] = {pages_[g].data(), pages_[g].size()};
  return pages;
}

std::size_t LeavingPath::resident() const {
  std::size_t bytes = words_.resident();
  for (const auto& column : pages_) bytes += column.resident();
  return bytes;
}

}  // namespace canopy::radix
