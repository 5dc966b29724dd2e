/// Operations on the whole tree: its cost, its queues, its nodes, and the relocation of its pages.
#include "radix_index.h"
#include "relocated_pages.h"
#include "weight_order.h"

#include <vector>

namespace canopy::radix {

IndexUse RadixIndex::use() const {
  IndexUse use;
  use.nodes = node_count_;
  use.refused = refused_;
  use.inserts_cut_short = cut_short_;
  use.bytes = nodes_.resident() + holds_.resident() + runs_.resident() + spaces_.resident() + groups_.resident() +
              path_.resident() + results_.resident() + leaving_.resident() + kept_.resident();
  return use;
}

void RadixIndex::waiting(std::size_t group, QueueVisitor& visitor) const {
  groups_.each_waiting(group,
                       [&](const QueuedNode& entry) { visitor.waiting(groups_.facts(entry.slot, group), entry.rank); });
}

void RadixIndex::remap(std::size_t group, std::span<const Page> from, std::span<const Page> to) {
  const RelocatedPages relocated(from, to);
  for (Slot slot = 1; slot < nodes_.slots(); ++slot) {
    const Node& node = nodes_[slot];
    if (!nodes_.in_use(slot) || !(node.resident >> group & 1)) continue;
    // Read before the loop: to the compiler, a page that is written could be the node's length.
    const std::size_t groups = groups_.size(), end = node.length / page_ * groups;
    Page* const pages = runs_.pages(node);
    Page any = 0;
    for (std::size_t i = group; i < end; i += groups) {
      const Page now = relocated(pages[i]);
      any |= now ^ pages[i];
      pages[i] = now;
    }
    if (any != 0) events_.relocated(slot, group);
  }
}

void RadixIndex::order_by_weight(std::span<const NodeId> ends, std::span<std::uint32_t> order) const {
  WeightOrder(nodes_, accounting_.split == Accounting::Split::upper_is_new)(ends, order);
}

void RadixIndex::visit(NodeVisitor& visitor) const {
  const std::size_t width = groups_.size();
  std::vector<Slot> order;
  order.reserve(node_count_);
  for (std::size_t space = 0; space < spaces_.count(); ++space)
    if (const Slot root = spaces_.root(static_cast<NamespaceId>(space)))
      for (Slot slot = nodes_.after(root, root); slot; slot = nodes_.after(slot, root)) order.push_back(slot);

  // A whole-path hold counts the node's own locks and its held children. The true reference count is the sum of own
  // locks over the subtree, added up from the deepest nodes to the roots.
  std::vector<std::uint32_t> locks(nodes_.slots() * width);
  for (const Slot slot : order)
    for (std::size_t g = 0; g < width; ++g) {
      locks[slot * width + g] += holds_(slot, g).count;
      if (const Slot parent = nodes_[slot].parent;
          groups_[g].whole_path() && holds_(slot, g).count && nodes_[parent].parent)
        --locks[parent * width + g];
    }
  for (auto slot = order.rbegin(); slot != order.rend(); ++slot)
    for (std::size_t g = 0; g < width; ++g)
      if (const Slot parent = nodes_[*slot].parent; groups_[g].whole_path() && nodes_[parent].parent)
        locks[parent * width + g] += locks[*slot * width + g];

  std::array<std::vector<Page>, kMaxGroups> pages;
  for (const Slot slot : order) {
    const Node& node = nodes_[slot];
    NodeView view;
    view.facts = groups_.facts(slot, 0);
    view.parent = nodes_[node.parent].parent ? nodes_.id(node.parent) : NodeId::none;
    view.words = {runs_.words(node), std::size_t{node.length} + runs_.overlap()};
    for (std::size_t g = 0; g < width; ++g) {
      view.locks[g] = locks[slot * width + g];
      pages[g].clear();
      for (std::size_t i = 0; (node.resident >> g & 1) && i < node.length / page_; ++i)
        pages[g].push_back(runs_.pages(node)[i * width + g]);
      view.pages[g] = pages[g];
    }
    visitor.node(view);
  }
}

}  // namespace canopy::radix
