#include "leaving_path.h"

#include <algorithm>

namespace canopy::radix {

namespace {

constexpr std::size_t kUsualWords = std::size_t{1} << 17;  // words; memory beyond them is given back

}  // namespace

void LeavingPath::begin() {
  words_.clear_but_keep(kUsualWords);
  for (std::size_t g = 0; g < groups_; ++g) pages_[g].clear_but_keep(kUsualWords / page_size_);
  read_.clear();
}

/// Returns the depth down to which the path to `slot` was read before. During an eviction nodes leave and none is
/// added without a begin(), so a slot still means the same node.
Units LeavingPath::shared_with_last(Slot slot) {
  std::size_t keep = read_.size();
  for (Slot at = slot; nodes_[at].parent; at = nodes_[at].parent) {
    while (keep > 0 && read_[keep - 1].end > nodes_[at].end()) --keep;
    if (keep == 0 || read_[keep - 1].slot != at) continue;
    read_.resize(keep);
    return nodes_[at].end();
  }
  read_.clear();
  return 0;
}

bool LeavingPath::read(Slot slot) {
  const Node& last = nodes_[slot];
  const std::size_t pages = last.end() / page_size_;
  const Units shared = shared_with_last(slot);
  if (!words_.resize(std::size_t{last.end()} + runs_.overlap())) return read_.clear(), false;
  for (std::size_t g = 0; g < groups_; ++g)
    if (!pages_[g].resize(pages)) return read_.clear(), false;
  // The overlap is copied only for the last node: for any other one it is the beginning of the node below.
  std::copy_n(runs_.words(last) + last.length, runs_.overlap(), words_.data() + last.end());
  std::size_t added = 0;
  for (Slot at = slot; nodes_[at].parent; at = nodes_[at].parent) {
    const Node& node = nodes_[at];
    if (node.end() > shared) {
      std::copy_n(runs_.words(node), node.length, words_.data() + node.begin);
      ++added;
    }
    // Some pages of the shared part may have left a group since, so page numbers are copied for the whole path.
    const Page* from = runs_.pages(node);
    const std::size_t first = node.begin / page_size_, count = node.length / page_size_;
    if (groups_ == 1) {
      std::copy_n(from, count, pages_[0].data() + first);
      continue;
    }
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t g = 0; g < groups_; ++g) pages_[g][first + i] = *from++;
  }
  remember(slot, added);
  return true;
}

/// Adds the deepest `count` nodes of the path to `read_`, ordered from the root.
void LeavingPath::remember(Slot slot, std::size_t count) {
  const std::size_t had = read_.size();
  if (!read_.resize(had + count)) return read_.clear();
  for (std::size_t i = had + count; i-- > had; slot = nodes_[slot].parent) read_[i] = {slot, nodes_[slot].end()};
}

GroupPages LeavingPath::pages() const {
  GroupPages pages;
  for (std::size_t g = 0; g < groups_; ++g) pages[g] = {pages_[g].data(), pages_[g].size()};
  return pages;
}

std::size_t LeavingPath::resident() const {
  std::size_t bytes = words_.resident() + read_.resident();
  for (const auto& column : pages_) bytes += column.resident();
  return bytes;
}

}  // namespace canopy::radix
