#include "weight_order.h"

#include <algorithm>
#include <new>
#include <numeric>

namespace canopy::radix {

void WeightOrder::operator()(std::span<const NodeId> ends, std::span<std::uint32_t> order) try {
  std::vector<Index> at;
  at.reserve(ends.size());
  for (const NodeId end : ends) {
    at.push_back(step_of(nodes_.find(end)));
    ++steps_[at.back()].weight;
  }
  for (std::size_t i = steps_.size(); --i > 0;) steps_[steps_[i].parent].weight += steps_[i].weight;

  // After this, the children of a node are adjacent, and parents come before their children.
  std::vector<Index> all(steps_.size() - 1);
  std::iota(all.begin(), all.end(), Index{1});
  const auto by_weight = [this](Index a, Index b) { return before(a, b); };
  std::sort(all.begin(), all.end(), by_weight);
  for (std::size_t i = 0, end; splits_are_new_ && i < all.size(); i = end) {
    const Step& first = steps_[all[i]];
    for (end = i + 1;
         end < all.size() && steps_[all[end]].parent == first.parent && steps_[all[end]].weight == first.weight;)
      ++end;
    if (end - i == 1) continue;
    place_by_list(std::span(all).subspan(i, end - i));
    std::sort(all.begin() + static_cast<std::ptrdiff_t>(i), all.begin() + static_cast<std::ptrdiff_t>(end), by_weight);
  }

  // A subtree takes consecutive places: first those of its children, then those of the requests that end in its top
  // node.
  for (const Index child : all) {
    Step& parent = steps_[steps_[child].parent];
    steps_[child].first = parent.first;
    parent.first += steps_[child].weight;
  }
  for (std::uint32_t request = 0; request < at.size(); ++request) order[steps_[at[request]].first++] = request;
} catch (const std::bad_alloc&) {
  std::iota(order.begin(), order.end(), 0U);
}

/// Returns the step of a node, and makes the steps of its path if needed. A namespace's root has no step: the nodes
/// below it are children of the one root.
WeightOrder::Index WeightOrder::step_of(Slot end) {
  path_.clear();
  Index step = 0;
  for (Slot slot = end; slot != 0 && nodes_[slot].parent != 0; slot = nodes_[slot].parent) {
    step = table_.empty() ? 0 : entry(slot);
    if (step != 0) break;
    path_.push_back(slot);
  }
  for (auto slot = path_.rbegin(); slot != path_.rend(); ++slot) {
    steps_.push_back({*slot, step, 0, 0, nodes_[*slot].created});
    step = static_cast<Index>(steps_.size() - 1);
    if (table_.size() < 2 * steps_.size()) grow();
    else entry(*slot) = step;
  }
  return step;
}

/// Returns the table entry for a slot; 0 if it has no step yet. REQUIRES: a free entry.
WeightOrder::Index& WeightOrder::entry(Slot slot) {
  const std::size_t mask = table_.size() - 1;
  std::size_t i = slot * std::size_t{0x9E3779B1} & mask;
  while (table_[i] != 0 && steps_[table_[i]].slot != slot) i = (i + 1) & mask;
  return table_[i];
}

void WeightOrder::grow() {
  table_.assign(std::max<std::size_t>(64, 2 * table_.size()), 0);
  for (std::size_t i = 1; i < steps_.size(); ++i) entry(steps_[i].slot) = static_cast<Index>(i);
}

bool WeightOrder::before(Index a, Index b) const {
  const Step &one = steps_[a], &other = steps_[b];
  if (one.parent != other.parent) return one.parent < other.parent;
  if (one.weight != other.weight) return one.weight > other.weight;
  return one.place != other.place ? one.place < other.place : a < b;
}

/// Gives siblings of equal weight the places that they have in their parent's list. Namespaces are ordered by number,
/// because no list contains nodes of different namespaces.
void WeightOrder::place_by_list(std::span<const Index> siblings) {
  for (const Index index : siblings) steps_[index].place = ~std::uint64_t{0};
  for (const Index index : siblings) {
    if (steps_[index].place != ~std::uint64_t{0}) continue;  // already placed with an earlier one
    const Node& top = nodes_[nodes_[steps_[index].slot].parent];
    auto left = std::count_if(siblings.begin(), siblings.end(), [&](Index other) {
      return nodes_[steps_[other].slot].parent == nodes_[steps_[index].slot].parent;
    });
    std::uint64_t place = std::uint64_t{static_cast<std::uint32_t>(top.space)} << 32;
    for (Slot slot = top.first_child; left > 0; slot = nodes_[slot].next, ++place) {
      const Index met = entry(slot);
      if (met == 0 || steps_[met].weight != steps_[index].weight) continue;
      steps_[met].place = place;
      --left;
    }
  }
}

}  // namespace canopy::radix
