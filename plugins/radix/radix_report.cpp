/// What an index says of itself: sizes, cost, dumps.
#include "moved_pages.h"
#include "radix_index.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <vector>

namespace canopy::radix {

Sizes RadixIndex::sizes(std::size_t group, NamespaceId space) const {
  const auto at = static_cast<std::size_t>(space);
  return at < spaces_.size() ? spaces_[at].sizes[group] : Sizes{};
}

IndexUse RadixIndex::use() const {
  IndexUse use;
  use.nodes = node_count_;
  use.refused = refused_;
  use.bytes = nodes_.resident() + holds_.resident() + runs_.resident() + spaces_.resident() + path_.resident();
  for (const PerGroup& group : groups_) use.bytes += group.queue.resident();
  for (const auto& pages : out_) use.bytes += pages.resident();
  return use;
}

void RadixIndex::waiting(std::size_t group, QueueVisitor& visitor) const {
  groups_[group].queue.each([&](const Queue::Entry& entry) { visitor.waiting(facts(entry.slot, group), entry.rank); });
}

void RadixIndex::remap(std::size_t group, std::span<const Page> from, std::span<const Page> to) {
  const MovedPages moved(from, to);
  for (Slot slot = 1; slot < nodes_.slots(); ++slot) {
    const Node& node = nodes_[slot];
    if (!nodes_.in_use(slot) || !(node.resident >> group & 1)) continue;
    // Before the loop: for all the compiler knows, a page that is written could be the node's length.
    const std::size_t groups = groups_.size(), end = node.length / page_ * groups;
    Page* const pages = node_pages(node);
    Page any = 0;
    for (std::size_t i = group; i < end; i += groups) {
      const Page now = moved(pages[i]);
      any |= now ^ pages[i];
      pages[i] = now;
    }
    if (any != 0) tell_pages(slot, group);
  }
}

void RadixIndex::tell_locked(Slot node, const Lock& lock, std::size_t first_group) const {
  for (std::size_t g = first_group; nodes_[node].parent && g < groups_.size(); ++g)
    tell(EventKind::locked, node, g, lock.from[g]);
}

/// The lock `had` on `before` is one on `node` now; either may be a namespace's root, where nothing is held.
void RadixIndex::tell_relocked(Slot node, const Lock& lock, Slot before, const Lock& had) const {
  if (!told()) return;
  if (nodes_[before].parent == 0) return tell_locked(node, lock, 0);
  for (std::size_t g = 0; g < groups_.size(); ++g)
    if (node != before || lock.from[g] != had.from[g])
      feed_->push({EventKind::relocked, static_cast<std::uint8_t>(g), 0, lock.from[g],
                   static_cast<std::uint64_t>(nodes_.id(node)), static_cast<std::uint64_t>(nodes_.id(before)),
                   had.from[g]});
}

void RadixIndex::tell_added(Slot slot, const std::uint32_t* words, const Brought& brought) const {
  const Node& node = nodes_[slot];
  const auto id = static_cast<std::uint64_t>(nodes_.id(slot));
  const Slot parent = nodes_[node.parent].parent ? node.parent : 0;
  feed_->push({EventKind::node_added, 0, static_cast<std::uint16_t>(node.resident),
               static_cast<std::uint32_t>(node.space), id, parent | std::uint64_t{node.length} << 32,
               feed_->bringer()});
  feed_->push({EventKind::node_named, 0, 0, 0, id,
               XXH3_64bits_withSeed(words, (std::size_t{page_} + overlap_) * sizeof(*words), feed_->digest_key()),
               node.created});
  if (feed_->header().tokens)
    for (Units at = 0; at < node.length; at += 4) {
      std::uint32_t some[4] = {};
      std::copy(words + at, words + std::min(at + 4, node.length), some);
      feed_->push({EventKind::node_words, 0, 0, at, id, some[0] | std::uint64_t{some[1]} << 32,
                   some[2] | std::uint64_t{some[3]} << 32});
    }
  for (std::size_t g = 0; feed_->bringer() == 0 && g < groups_.size(); ++g)
    if (node.resident >> g & 1)
      feed_->push_pages(EventKind::node_pages, id, g, 0, node.length / page_,
                        brought.pages[g].data() + (node.begin - brought.from) / page_);
}

void RadixIndex::tell_pages(Slot slot, std::size_t group) const {
  if (!told()) return;
  const Node& node = nodes_[slot];
  const Page* pages = node_pages(node) + group;
  feed_->push_pages(EventKind::node_pages, static_cast<std::uint64_t>(nodes_.id(slot)), group, 0, node.length / page_,
                    pages, groups_.size());
}

void RadixIndex::tell_facts(Slot slot) const {
  if (!told()) return;
  const Node& node = nodes_[slot];
  feed_->push({EventKind::node_facts, 0, 0, static_cast<std::uint32_t>(node.priority),
               static_cast<std::uint64_t>(nodes_.id(slot)), hold(slot, 0).last_access,
               node.hits | std::uint64_t{node.inserts} << 32});
}

void RadixIndex::visit(NodeVisitor& visitor) const {
  const std::size_t width = groups_.size();
  std::vector<Slot> order;
  order.reserve(node_count_);
  for (std::size_t space = 0; space < spaces_.size(); ++space)
    if (const Slot root = spaces_[space].root)
      for (Slot slot = nodes_.after(root, root); slot; slot = nodes_.after(slot, root)) order.push_back(slot);

  // A whole-path hold counts the node's own locks and its held children; the true reference count is the sum of
  // own locks over the subtree, added up from the deepest nodes to the roots.
  std::vector<std::uint32_t> locks(nodes_.slots() * width);
  for (const Slot slot : order)
    for (std::size_t g = 0; g < width; ++g) {
      locks[slot * width + g] += hold(slot, g).count;
      if (const Slot parent = nodes_[slot].parent;
          groups_[g].whole_path() && hold(slot, g).count && nodes_[parent].parent)
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
    view.facts = facts(slot, 0);
    view.parent = nodes_[node.parent].parent ? nodes_.id(node.parent) : NodeId::none;
    view.words = {words(node), std::size_t{node.length} + overlap_};
    for (std::size_t g = 0; g < width; ++g) {
      view.locks[g] = locks[slot * width + g];
      pages[g].clear();
      for (std::size_t i = 0; (node.resident >> g & 1) && i < node.length / page_; ++i)
        pages[g].push_back(node_pages(node)[i * width + g]);
      view.pages[g] = pages[g];
    }
    visitor.node(view);
  }
}

}  // namespace canopy::radix
