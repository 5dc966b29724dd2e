/// The part of a ChunkTree that sends nodes to the feed and to visitors.
#include <algorithm>
#include <bit>
#include <utility>

#include "chunk_tree.h"

namespace canopy::python {

/// Returns words that name a chunk: a feed makes a digest of them. It has no tokens.
const std::uint32_t* ChunkTree::words_of(Slot slot) const {
  const auto halves = std::bit_cast<std::array<std::uint32_t, 2>>(nodes_[slot].print);
  std::copy_n(halves.begin(), std::min(words_.size(), halves.size()), words_.begin());
  return words_.data();
}

void ChunkTree::report_added(Slot slot) const {
  if (!events_ || !events_->wants_nodes()) return;
  const Node& node = nodes_[slot];
  AddedNode added;
  added.node = id(slot);
  added.parent = node.parent;
  added.space = node.space;
  added.length = page_;
  added.words = words_of(slot);
  added.resident = 1;
  added.pages[0] = {&node.page, 1};
  added.created = node.created;
  events_->added(added);
  report_facts(slot);
}

void ChunkTree::report_facts(Slot slot) const {
  if (!events_ || !events_->wants_all()) return;
  const Node& node = nodes_[slot];
  events_->changed(id(slot), 0, node.last_access, node.hits, node.inserts);
}

void ChunkTree::report_rank(const RankQueue::Entry& entry) const {
  if (events_ && events_->wants_all()) events_->ranked(id(entry.slot), 0, entry.rank);
}

/// Calls each(slot) for every chunk, parents before children, and left(slot) after all chunks that continue it.
template <class Each, class Left>
void ChunkTree::each(Each&& each, Left&& left) const {
  for (Slot root = 1; root < nodes_.size(); ++root) {
    if (!nodes_[root].here || nodes_[root].parent != 0) continue;
    for (Slot at = root; at != 0;) {
      each(at);
      if (nodes_[at].child) {
        at = nodes_[at].child;
        continue;
      }
      left(at);
      while (at != root && !nodes_[at].next) left(at = nodes_[at].parent);
      at = at == root ? 0 : nodes_[at].next;
    }
  }
}

void ChunkTree::report_moves() {
  if (!std::exchange(moved_, false) || !events_ || !events_->wants_nodes()) return;
  events_->cleared();
  each(
      [&](Slot slot) {
        report_added(slot);
        if (nodes_[slot].pinned && events_->wants_all()) events_->locked(id(slot), 0, nodes_[slot].begin);
      },
      [](Slot) {});
  for (const RankQueue::Entry& entry : queue_.entries()) report_rank(entry);
}

void ChunkTree::visit(NodeVisitor& visitor) const {
  const PolicyClock now = clock();
  std::vector<std::uint32_t> locks(nodes_.size());  // a pin holds its chunk and all before it
  each([&](Slot slot) { locks[slot] += nodes_[slot].pinned; },
       [&](Slot slot) { locks[nodes_[slot].parent] += locks[slot]; });
  each(
      [&](Slot slot) {
        const Node& node = nodes_[slot];
        NodeView view;
        view.facts = facts(slot, now);
        view.parent = node.parent ? id(node.parent) : NodeId::none;
        view.words = {words_of(slot), words_.size()};
        view.pages[0] = {&node.page, 1};
        view.locks[0] = locks[slot];
        visitor.node(view);
      },
      [](Slot) {});
}

void ChunkTree::waiting(std::size_t, QueueVisitor& visitor) const {
  const PolicyClock now = clock();
  for (const RankQueue::Entry& entry : queue_.entries()) visitor.waiting(facts(entry.slot, now), entry.rank);
}

/// A pin protects the chunks before its own too, as for readers of the feed.
Sizes ChunkTree::sizes(std::size_t) const { return {movable_ * page_, (resident_ - movable_) * page_}; }

IndexUse ChunkTree::use() const {
  return {.nodes = resident_,
          .bytes = nodes_.capacity() * sizeof(Node) + queue_.entries().capacity() * sizeof(RankQueue::Entry)};
}

}  // namespace canopy::python
