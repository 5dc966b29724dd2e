#include "child_search.h"

#include <algorithm>

#include "match_length.h"

namespace canopy::radix {

Slot ChildSearch::below(Slot parent, Units depth) {
  const Units left = limit_ - depth;
  if (left < page_size_) return 0;
  const std::uint32_t* wanted = words_ + depth;
  Slot found = 0;
  const auto agrees = [&](Slot slot) {
    const Node& node = nodes_[slot];
    if (node.parent != parent) return false;
    if (node.children > 1 && left >= node.length + page_size_) {
      next_parent_ = slot;
      next_fingerprint_ = runs_.fingerprint(slot, wanted + node.length);
      nodes_.prefetch_places(next_fingerprint_);  // the table's row loads while the words are compared
    }
    const std::size_t most = std::size_t{std::min(node.length, left)} + runs_.overlap();
    const Units units = runs_.whole_units(match_length(runs_.words(node), wanted, most));
    if (units == 0) return false;
    common_ = units;
    found = slot;
    return true;
  };
  // An only child is found without the table: its parent has its slot, and the words are compared as always.
  if (const Node& above = nodes_[parent]; above.children == 1) agrees(above.first_child);
  else if (above.children > 1)
    nodes_.candidates(next_parent_ == parent ? next_fingerprint_ : runs_.fingerprint(parent, wanted), agrees);
  return found;
}

}  // namespace canopy::radix
