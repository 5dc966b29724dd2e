// A node has in each group all of its pages or none (Node::resident), so a node ends wherever the groups of the
// incoming pages change. An insert takes the memory for its nodes, queues and results before it splits, fills or
// appends a node. Only a new run can lack memory after that, and the insert then ends above it.

#include "child_search.h"
#include "radix_index.h"

#include <algorithm>

namespace canopy::radix {

/// Makes room for `count` more nodes and their places in the queues, so that the operation cannot stop halfway.
bool RadixIndex::make_room(std::size_t count) {
  const std::size_t slots = nodes_.slots() + count;
  if (!nodes_.reserve(count) || !holds_.reserve(slots)) return false;
  return groups_.promise(slots) && (!groups_.apart() || kept_.resize(std::max(slots, kept_.size())));
}

/// Makes room for any result: at most all resident pages and those that the caller passes.
bool RadixIndex::promise_results(const GroupPages& incoming) {
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const Sizes& sizes = spaces_.sizes(g);
    if (!results_[g].promise((sizes.evictable + sizes.protected_) / page_ + incoming[g].size())) return false;
  }
  return true;
}

/// Returns the root of a namespace, and makes it if there is none; 0 if the system has no memory.
Slot RadixIndex::root_of(NamespaceId space) {
  if (!spaces_.reserve(space)) return 0;
  if (spaces_.root(space) == 0) {
    if (!make_room(1)) return 0;
    spaces_.set_root(space, make_node(space));
  }
  return spaces_.root(space);
}

Slot RadixIndex::make_node(NamespaceId space) {
  const Slot slot = nodes_.make();
  holds_.resize(nodes_.slots());
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    holds_(slot, g) = {0, QueuePlaces::kNone, now_};
    holds_.word(slot, g) = {};
  }
  if (groups_.apart()) kept_[slot] = 0;
  nodes_[slot].space = space;
  nodes_[slot].created = now_;
  return slot;
}

/// Splits a node into two windows on the same run. The lower half keeps the node's id, so that locks on it still mean
/// the same depth. Returns the upper half. REQUIRES: make_room(1), 0 < at < length, whole pages.
Slot RadixIndex::split(Slot lower, Units at) {
  const Slot upper = make_node(nodes_[lower].space);
  ++node_count_;
  Node& above = nodes_[upper];
  Node& below = nodes_[lower];
  const std::uint32_t place = runs_.fingerprint(below.parent, runs_.words(below));
  above.run = below.run;
  above.begin = below.begin;
  above.length = at;
  above.hits = below.hits;
  // An evicted node hands its inserts over. If both halves had them, they would be handed over twice.
  above.inserts = accounting_.hands_over ? 0 : below.inserts;
  above.priority = below.priority;
  above.resident = below.resident;
  above.created = below.created;
  below.begin += at;
  below.length -= at;
  runs_.add_window(below.run);
  nodes_.refile(place, lower, upper);
  nodes_.put_between(upper, lower);
  nodes_.file(runs_.fingerprint(upper, runs_.words(below)), lower);
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const Hold& from = holds_(lower, g);
    holds_(upper, g).count = groups_[g].whole_path() ? from.count > 0 : from.count;
    holds_(upper, g).last_access = from.last_access;
    holds_.word(upper, g) = holds_.word(lower, g);
  }
  if (groups_.apart()) kept_[upper] = kept_[lower] > 0;
  const bool is_new = accounting_.split == Accounting::Split::upper_is_new;
  if (is_new) {
    const Tick used = read_clock();
    for (std::size_t g = 0; g < groups_.size(); ++g) holds_(upper, g).last_access = used;
    above.created = read_clock();
  } else if (accounting_.split == Accounting::Split::both_used) {
    for (const Slot half : {upper, lower}) {
      const Tick used = read_clock();
      for (std::size_t g = 0; g < groups_.size(); ++g)
        if (groups_[g].whole_path()) holds_(half, g).last_access = used;
      events_.facts(half);
    }
  }
  if (IndexEvents* to = events_.nodes()) to->split(nodes_.id(lower), nodes_.id(upper), at, nodes_[upper].inserts);
  if (is_new) {
    if (IndexEvents* to = events_.all()) to->created(nodes_.id(upper), nodes_[upper].created);
    events_.facts(upper);
  }
  groups_.requeue(upper);
  groups_.requeue(lower);
  return upper;
}

Inserted RadixIndex::insert(const Lock& lock, const Key& key, const GroupPages& pages, InsertFacts facts) {
  ChildSearch search(nodes_, runs_, key, page_);
  const Units limit = search.limit();
  const Tick stamp = ++now_;
  clear_results();

  const IncomingPages incoming(pages, lock.length, page_, groups_.size());
  const bool stale = lock.id != LockId::none && !holds(lock);
  const Slot start = stale ? 0 : lock.id == LockId::none ? root_of(key.space) : end_of(lock);
  Slot at = start;
  const std::size_t changes = groups_.one_whole_path() ? 0 : incoming.mask_changes(limit);
  if (stale || limit < lock.length) {
    refused_ += stale;
    return {lock, lock.length, {}, {}};
  }
  if (at == 0 || !make_room(2 + groups_.size() + 2 * changes) || !promise_results(pages) || !promise_pages(limit)) {
    ++cut_short_;
    if (at != 0) drop_empty_root(at);
    return {lock, lock.length, {}, {}};
  }
  const bool windows = accounting_.windows == Accounting::Windows::with_path;
  if (accounting_.insert_counts_on_path)
    for (Slot up = at; nodes_[up].parent; up = nodes_[up].parent) touch(up, stamp, windows), count_insert(up, facts);

  Units depth = lock.length;
  while (Slot next = search.below(at, depth)) {
    const Units common = search.common();
    if (accounting_.insert_walk_touches) touch(next, stamp, windows);
    if (common < nodes_[next].length) next = split(next, common);
    if (accounting_.insert_counts_on_path) count_insert(next, facts);
    return_to_caller(incoming, depth, depth + common, nodes_[next].resident);
    depth += common;
    at = nodes_[next].resident == groups_.all() ? next : refill(next, incoming);
  }
  const Units had = depth;
  if (depth < limit) at = append(at, key, depth, limit, incoming, facts);
  if (!accounting_.insert_counts_on_path && nodes_[at].parent) {
    count_insert(at, facts);
    for (std::size_t g = 0; g < groups_.size(); ++g)
      if (groups_[g].whole_path()) holds_(at, g).last_access = stamp;
    events_.facts(at);
  }
  if (accounting_.windows == Accounting::Windows::locked_and_a_page) touch_windows(at, read_clock());
  if (accounting_.windows == Accounting::Windows::locked && !groups_.one_whole_path()) touch_deepest(at, lock.length);
  const Lock deeper = lock_at(at, nodes_[at].end());
  events_.relocked(at, deeper, start, lock);
  for (std::size_t g = 0; g < groups_.size(); ++g) unlock(start, g, lock.from[g]);
  drop_empty_root(at);
  Inserted inserted{deeper, had, results_.result(), {}};
  if (groups_.any_path_limit()) keep_path_limits(at, inserted);
  return inserted;
}

/// Evicts the pages by which the path of an insert exceeds Group::max_per_path.
void RadixIndex::keep_path_limits(Slot tail, Inserted& inserted) {
  std::array<std::size_t, kMaxGroups> spare{};
  for (std::size_t g = 0; g < groups_.size(); ++g) spare[g] = results_[g].size();
  for (std::size_t g = 0; g < groups_.size(); ++g)
    if (groups_[g].group.max_per_path) evict_above(tail, g);
  const GroupPages all = results_.result();
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    inserted.spare[g] = all[g].first(spare[g]);
    inserted.evicted[g] = all[g].subspan(spare[g]);
  }
}

/// Counts an insert in a node in which it ends, or through which it passes (Accounting::insert_counts_on_path).
void RadixIndex::count_insert(Slot slot, InsertFacts facts) {
  Node& node = nodes_[slot];
  node.priority = std::max(node.priority, facts.priority);
  if (accounting_.counts_once_a_request ? node.end() > facts.inserted : !facts.chunked) {
    ++node.inserts;
    if (accounting_.insert_counts_on_path) ++node.hits;
  }
  if (!accounting_.insert_counts_on_path) return;
  events_.facts(slot);
  groups_.requeue_in_windows(slot);
}

/// Makes the end of a path recent in the groups with a reach: all nodes with a part of the last `reach` units and one
/// page more; for a state, only the node whose state is used.
void RadixIndex::touch_windows(Slot end, Tick stamp) {
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    if (groups_[g].whole_path()) continue;
    const std::uint64_t reach = groups_[g].group.reach, units = reach == 1 ? 1 : reach + page_;
    for (Slot at = end; nodes_[at].parent && nodes_[end].end() - nodes_[at].end() < units; at = nodes_[at].parent) {
      if (!(nodes_[at].resident >> g & 1)) continue;
      holds_(at, g).last_access = stamp;
      if (holds_(at, g).place != QueuePlaces::kNone) groups_.requeue(at, g);
    }
  }
}

/// Makes the deepest node below `from` that has pages recent in each group with a reach: it has the state from which
/// the request would continue.
void RadixIndex::touch_deepest(Slot end, Units from) {
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    Slot at = groups_[g].whole_path() ? 0 : end;
    while (at && nodes_[at].parent && nodes_[at].end() > from && !(nodes_[at].resident >> g & 1))
      at = nodes_[at].parent;
    if (at == 0 || nodes_[at].parent == 0 || nodes_[at].end() <= from) continue;
    holds_(at, g).last_access = now_;
    if (holds_(at, g).place != QueuePlaces::kNone) groups_.requeue(at, g);
  }
}

/// Makes a node recent in all groups, or in those that need the whole path.
void RadixIndex::touch(Slot slot, Tick stamp, bool windows) {
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    if (!windows && !groups_[g].whole_path()) continue;
    holds_(slot, g).last_access = stamp;
    if (holds_(slot, g).place != QueuePlaces::kNone) groups_.requeue(slot, g);
  }
  events_.facts(slot);
}

/// Adds the caller's pages of [from, to) in the groups of `mask` to the result, because the index has other pages
/// there.
void RadixIndex::return_to_caller(const IncomingPages& incoming, Units from, Units to, std::uint32_t mask) {
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    if (!(mask >> g & 1)) continue;
    const auto pages = incoming.pages(g, from, to);
    if (groups_.one_whole_path()) results_[g].append(pages.data(), pages.size());
    else
      for (const Page page : pages)
        if (page) results_[g].push_back(page);
  }
}

/// Fills the tombstones of a node with the incoming pages for its span, and splits the node where these begin or end.
/// Returns the deepest piece.
Slot RadixIndex::refill(Slot node, const IncomingPages& incoming) {
  const std::uint32_t missing = groups_.all() & ~nodes_[node].resident;
  for (;;) {
    const Units begin = nodes_[node].begin, end = nodes_[node].end();
    const std::uint32_t has = incoming.mask(begin) & missing;
    const Units cut = incoming.same_until(begin, end, missing);
    const Slot piece = cut < end ? split(node, cut - begin) : node;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      if (!(has >> g & 1)) continue;
      Page* into = runs_.pages(nodes_[piece]);
      for (Units depth = begin; depth < cut; depth += page_)
        into[std::size_t{(depth - begin) / page_} * groups_.size() + g] = incoming.page(g, depth);
      nodes_[piece].resident |= 1U << g;
      add_resident(piece, g);
      if (accounting_.windows == Accounting::Windows::locked_and_a_page) holds_(piece, g).last_access = read_clock();
      events_.filled(piece, g);
      groups_.requeue(piece, g);
    }
    if (cut >= end) return node;
  }
}

/// Makes a run for [depth, limit) and its nodes, a new node wherever the resident groups change. Returns the deepest
/// node; `parent` if the system has no memory.
Slot RadixIndex::append(Slot parent, const Key& key, Units depth, Units limit, const IncomingPages& incoming,
                        InsertFacts facts) {
  // A leaf without pages in any group would be in no queue, and so would never be evicted.
  while (limit > depth && incoming.mask(limit - page_) == 0) limit -= page_;
  if (limit == depth) return parent;
  const std::size_t width = groups_.size();
  const RunStore::Block run = runs_.add(key, depth, limit, incoming);
  if (!run) return ++cut_short_, parent;
  const bool one_node = groups_.one_whole_path();  // no page is missing, so the mask is not read
  while (depth < limit) {
    const std::uint32_t mask = one_node ? 1 : incoming.mask(depth);
    const Units end = one_node ? limit : incoming.same_until(depth, limit, groups_.all());
    const Slot slot = make_node(key.space);
    ++node_count_;
    Node& node = nodes_[slot];
    node.run = run;
    node.begin = depth;
    node.length = end - depth;
    node.resident = mask;
    node.priority = facts.priority;
    runs_.add_window(run);
    if (!accounting_.tick_per_operation) {
      const Tick used = read_clock();
      for (std::size_t g = 0; g < width; ++g) holds_(slot, g).last_access = used;
      node.created = read_clock();
    }
    if (accounting_.windows == Accounting::Windows::locked && !one_node)
      for (std::size_t g = 0; g < width; ++g)
        if (!groups_[g].whole_path()) holds_(slot, g).last_access = 0;
    if (accounting_.insert_counts_on_path) count_insert(slot, facts);
    nodes_.attach(parent, slot);
    // The caller's words, because the node's own are not in the caches (stream_copy).
    const std::uint32_t* words = key.words.data() + node.begin;
    nodes_.file(runs_.fingerprint(parent, words), slot);
    if (events_.nodes()) {
      events_.added(slot, words, incoming, facts.request);
      // Otherwise the insert sends them for its last node after it has counted there.
      if (end < limit || accounting_.insert_counts_on_path) events_.facts(slot);
    }
    for (std::size_t g = 0; g < width; ++g)
      if (mask >> g & 1) add_resident(slot, g), groups_[g].allocated += node.length;
    groups_.requeue(parent);
    if (end < limit) groups_.requeue(slot);  // the deepest is about to be locked
    parent = slot;
    depth = end;
  }
  return parent;
}

}  // namespace canopy::radix
