/// How the tree grows: splits, new runs, gaps that fill again.
#include "radix_index.h"
#include "stream_copy.h"

#include <algorithm>
#include <cstring>

namespace canopy::radix {

/// Memory for `count` more nodes, so that what follows cannot stop half way.
bool RadixIndex::make_room(std::size_t count) {
  return nodes_.reserve(count) && holds_.reserve((nodes_.slots() + count) * groups_.size());
}

/// 0 if there is no memory for one.
Slot RadixIndex::root_of(NamespaceId space) {
  const auto at = static_cast<std::size_t>(space);
  if (at >= spaces_.size() && !spaces_.resize(at + 1)) return 0;
  if (spaces_[at].root == 0) {
    if (!make_room(1)) return 0;
    spaces_[at].root = make_node(space);
  }
  return spaces_[at].root;
}

Slot RadixIndex::make_node(NamespaceId space) {
  const Slot slot = nodes_.make();
  if (!holds_.resize(nodes_.slots() * groups_.size())) stop_without_memory();
  for (std::size_t g = 0; g < groups_.size(); ++g) hold(slot, g) = {0, Queue::kNowhere, now_};
  nodes_[slot].space = space;
  nodes_[slot].created = now_;
  return slot;
}

/// Cuts a node in two windows on the same run. The lower half keeps the node's identity, so that locks on it
/// still mean the same depth; the upper half is returned. REQUIRES: make_room(1), 0 < at < length, whole pages.
Slot RadixIndex::split(Slot lower, Units at) {
  const Slot upper = make_node(nodes_[lower].space);
  ++node_count_;
  Node& above = nodes_[upper];
  Node& below = nodes_[lower];
  const std::uint32_t place = fingerprint(below.parent, words(below));
  above.run = below.run;
  above.begin = below.begin;
  above.length = at;
  above.hits = below.hits;
  // Ours are handed to the parent when a node leaves: both halves would hand over the same ones.
  above.inserts = accounting_.hands_over ? 0 : below.inserts;
  above.priority = below.priority;
  above.resident = below.resident;
  above.created = below.created;
  above.spared = below.spared;
  above.tag = below.tag;
  below.begin += at;
  below.length -= at;
  ++reinterpret_cast<Run*>(runs_.at(below.run))->windows;
  nodes_.refile(place, lower, upper);
  nodes_.put_between(upper, lower);
  nodes_.file(fingerprint(upper, words(below)), lower);
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const Hold& from = hold(lower, g);
    hold(upper, g).count = groups_[g].whole_path() ? from.count > 0 : from.count;
    hold(upper, g).last_access = from.last_access;
  }
  if (accounting_.split_is_new) {
    const Tick used = read_clock();
    for (std::size_t g = 0; g < groups_.size(); ++g) hold(upper, g).last_access = used;
    above.created = read_clock();
  }
  if (told())
    feed_->push({EventKind::node_split, 0, 0, nodes_[upper].inserts, static_cast<std::uint64_t>(nodes_.id(lower)),
                 static_cast<std::uint64_t>(nodes_.id(upper)), at});
  if (accounting_.split_is_new) {
    tell(EventKind::node_created, upper, 0, nodes_[upper].created);
    tell_facts(upper);
  }
  requeue(upper);
  requeue(lower);
  return upper;
}

Inserted RadixIndex::insert(const Lock& lock, const Key& key, const GroupPages& pages, InsertFacts facts) {
  const Units limit = whole_units(key.words.size());
  const Tick stamp = ++now_;
  clear_out();

  const Brought brought{pages, lock.length};
  const bool stale = lock.node != NodeId::none && !holds(lock);
  const Slot start = stale ? 0 : lock.node == NodeId::none ? root_of(key.space) : nodes_.find(lock.node);
  Slot at = start;
  if (at == 0 || limit < lock.length || !make_room(2 + groups_.size() + 2 * residency_changes(brought, limit))) {
    refused_ += stale;
    return {lock, lock.length, {}};
  }
  if (accounting_.insert_counts_on_path)
    for (Slot up = at; nodes_[up].parent; up = nodes_[up].parent) touch(up, stamp), count_insert(up, facts);

  Units depth = lock.length, common = 0;
  Ahead ahead;
  while (Slot next = child(at, key, depth, limit, common, ahead)) {
    if (accounting_.walk_touches) touch(next, stamp);
    if (common < nodes_[next].length) next = split(next, common);
    if (accounting_.insert_counts_on_path) count_insert(next, facts);
    keep_out(brought, depth, depth + common, nodes_[next].resident);
    depth += common;
    at = nodes_[next].resident == all_groups() ? next : refill(next, brought);
  }
  const Units had = depth;
  if (depth < limit) at = append(at, key, depth, limit, brought, facts);
  if (!accounting_.insert_counts_on_path && nodes_[at].parent) {
    count_insert(at, facts);
    for (std::size_t g = 0; g < groups_.size(); ++g)
      if (groups_[g].whole_path()) hold(at, g).last_access = stamp;
    tell_facts(at);
  }
  const Lock deeper = lock_at(at);
  tell_relocked(at, deeper, start, lock);
  for (std::size_t g = 0; g < groups_.size(); ++g) let_go(start, g, lock.from[g]);
  drop_empty_root(at);
  return {deeper, had, out()};
}

/// Counts an insert in a node in which it ends, or through which it passes (Accounting::insert_counts_on_path).
void RadixIndex::count_insert(Slot slot, InsertFacts facts) {
  Node& node = nodes_[slot];
  node.priority = std::max(node.priority, facts.priority);
  if (!facts.chunked) {
    ++node.inserts;
    if (accounting_.insert_counts_on_path) ++node.hits;
  }
  if (accounting_.insert_counts_on_path) tell_facts(slot);
}

void RadixIndex::touch(Slot slot, Tick stamp) {
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    hold(slot, g).last_access = stamp;
    if (hold(slot, g).place != Queue::kNowhere) requeue(slot, g);
  }
  tell_facts(slot);
}

/// How often the pages that were brought change between nothing and something: where nodes must end.
std::size_t RadixIndex::residency_changes(const Brought& brought, Units limit) const {
  std::size_t changes = 0;
  if (groups_.size() > 1 || !groups_[0].whole_path())
    for (Units depth = brought.from + page_; depth < limit; depth += page_)
      changes += brought.mask(depth, page_, groups_.size()) != brought.mask(depth - page_, page_, groups_.size());
  return changes;
}

/// The caller's pages of [from, to) in the groups of `mask` are its own again.
void RadixIndex::keep_out(const Brought& brought, Units from, Units to, std::uint32_t mask) {
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    if (!(mask >> g & 1)) continue;
    const auto pages = brought.pages[g].subspan((from - brought.from) / page_, (to - from) / page_);
    if (groups_[g].whole_path()) out_[g].append(pages.data(), pages.size());
    else
      for (const Page page : pages)
        if (page) out_[g].push_back(page);
  }
}

/// Fills the gaps of a node with what was brought for its span, cutting it where that begins or ends. Returns
/// the deepest piece.
Slot RadixIndex::refill(Slot node, const Brought& brought) {
  const std::uint32_t gaps = all_groups() & ~nodes_[node].resident;
  const auto mask = [&](Units depth) { return brought.mask(depth, page_, groups_.size()) & gaps; };
  for (;;) {
    const Units begin = nodes_[node].begin, end = nodes_[node].end();
    const std::uint32_t has = mask(begin);
    Units cut = begin + page_;
    while (cut < end && mask(cut) == has) cut += page_;
    const Slot piece = cut < end ? split(node, cut - begin) : node;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      if (!(has >> g & 1)) continue;
      Page* into = node_pages(nodes_[piece]);
      for (Units depth = begin; depth < cut; depth += page_)
        into[std::size_t{(depth - begin) / page_} * groups_.size() + g] = brought.page(g, depth, page_);
      nodes_[piece].resident |= 1U << g;
      arrive(piece, g);
      tell_pages(piece, g);
      requeue(piece, g);
    }
    if (cut >= end) return node;
  }
}

/// A run for [depth, limit) and nodes on it, a new one wherever a group's residency changes. Returns the
/// deepest; `parent` if the system has no memory.
Slot RadixIndex::append(Slot parent, const Key& key, Units depth, Units limit, const Brought& brought,
                        InsertFacts facts) {
  // A leaf that holds nothing in any group would wait in no queue, and so stay for ever.
  while (limit > depth && brought.mask(limit - page_, page_, groups_.size()) == 0) limit -= page_;
  if (limit == depth) return parent;
  const std::size_t count = std::size_t{limit - depth} + overlap_, pages = (limit - depth) / page_,
                    width = groups_.size();
  const RunStore::Block run = runs_.allocate(kRunWords + count);
  const RunStore::Block page_block = run ? runs_.allocate(pages * width) : 0;
  if (!page_block) {
    if (run) runs_.free(run);
    return parent;
  }
  auto& head = *reinterpret_cast<Run*>(runs_.at(run));
  head = {depth, 0, page_block, 0};
  stream_copy(runs_.at(run) + kRunWords, key.words.data() + depth, count);
  Page* into = runs_.at(page_block);
  const std::size_t skip = (depth - brought.from) / page_;
  if (width == 1) stream_copy(into, brought.pages[0].data() + skip, pages);
  else
    for (std::size_t i = 0; i < pages; ++i)
      for (std::size_t g = 0; g < width; ++g)
        into[i * width + g] = brought.page(g, depth + static_cast<Units>(i) * page_, page_);

  const bool gapless = width == 1 && groups_[0].whole_path();  // the usual engine: no need to look
  while (depth < limit) {
    const std::uint32_t mask = gapless ? 1 : brought.mask(depth, page_, width);
    Units end = gapless ? limit : depth + page_;
    while (end < limit && brought.mask(end, page_, width) == mask) end += page_;
    const Slot slot = make_node(key.space);
    ++node_count_;
    Node& node = nodes_[slot];
    node.run = run;
    node.begin = depth;
    node.length = end - depth;
    node.resident = mask;
    node.priority = facts.priority;
    ++head.windows;
    if (!accounting_.tick_per_operation) {
      const Tick used = read_clock();
      for (std::size_t g = 0; g < width; ++g) hold(slot, g).last_access = used;
      node.created = read_clock();
    }
    if (accounting_.insert_counts_on_path) count_insert(slot, facts);
    nodes_.attach(parent, slot);
    // From the caller's copies: the node's own went around the caches.
    const std::uint32_t* words = key.words.data() + node.begin;
    nodes_.file(fingerprint(parent, words), slot);
    if (told()) {
      tell_added(slot, words, brought);
      // In standard accounting an insert ends by telling those of the node it ends in.
      if (end < limit || accounting_.insert_counts_on_path) tell_facts(slot);
    }
    for (std::size_t g = 0; g < width; ++g)
      if (mask >> g & 1) arrive(slot, g), groups_[g].allocated += node.length;
    requeue(parent);
    if (end < limit) requeue(slot);  // the deepest is about to be locked
    parent = slot;
    depth = end;
  }
  return parent;
}

}  // namespace canopy::radix
