// A slot has a node exactly if its id is not 0. Each node is in one list of siblings: the children of its parent, or
// the roots of its namespace. A node begins where its parent ends, and a root at 0.

#include <algorithm>
#include <utility>

#include "apply.h"

namespace canopy::inspector {
namespace {

constexpr std::uint64_t bits(NodeId id) { return static_cast<std::uint64_t>(id); }

}  // namespace

void Apply::attach(std::uint32_t slot, std::uint32_t parent, NamespaceId space) {
  const auto at = static_cast<std::size_t>(space);
  if (state_.spaces.size() <= at) state_.spaces.resize(at + 1);
  NodeBlocks& nodes = state_.nodes;
  MirrorNode& node = nodes[slot];
  std::uint32_t& first = parent ? nodes[parent].first_child : state_.spaces[at].first_child;
  std::uint32_t& last = parent ? nodes[parent].last_child : state_.spaces[at].last_child;
  node.parent = parent;
  node.next = 0;
  node.prev = last;
  (last ? nodes[last].next : first) = slot;
  last = slot;
  if (parent) count_child(nodes[parent], true);
}

void Apply::detach(std::uint32_t slot) {
  NodeBlocks& nodes = state_.nodes;
  MirrorNode& node = nodes[slot];
  MirrorSpace& space = state_.space_of(node);
  (node.prev ? nodes[node.prev].next : node.parent ? nodes[node.parent].first_child : space.first_child) = node.next;
  (node.next ? nodes[node.next].prev : node.parent ? nodes[node.parent].last_child : space.last_child) = node.prev;
  if (node.parent) count_child(nodes[node.parent], false);
}

void Apply::count_child(MirrorNode& parent, bool more) {
  for (std::size_t g = 0; g < groups(); ++g)
    if (parent.has(g)) count(parent, g, false);
  parent.children += more ? 1U : ~0U;
  for (std::size_t g = 0; g < groups(); ++g)
    if (parent.has(g)) count(parent, g, true);
}

bool Apply::may_be(const event::NodeAdded& added) {
  const std::uint32_t slot = slot_of(added.node);
  return slot != 0 && slot < kMostSlots && static_cast<std::uint32_t>(added.space) < kMostSpaces;
}

void Apply::place(std::uint32_t slot, std::uint32_t parent) {
  MirrorNode& node = state_.nodes[slot];
  node.begin = parent ? std::as_const(state_.nodes)[parent].end() : 0;
  attach(slot, parent, node.space);
  ++state_.node_count;
  MirrorSpace& space = state_.space_of(node);
  ++space.nodes;
  space.tokens += node.length;
  for (std::size_t g = 0; g < groups(); ++g)
    if (node.has(g)) count(node, g, true);
}

void Apply::operator()(const event::NodeAdded& added) {
  if (!may_be(added)) return;
  const std::uint32_t slot = slot_of(added.node);
  NodeBlocks& nodes = state_.nodes;
  const MirrorNode& above = std::as_const(nodes)[added.parent];  // before the node is added
  const std::uint32_t parent = above.id && !lifted_.contains(above.id) ? added.parent : 0;
  if (nodes[slot].id) {
    if (nodes[slot].id == bits(added.node) && lifted_.erase(nodes[slot].id) > 0) place(slot, parent);
    return;
  }
  MirrorNode& node = nodes[slot];
  node.id = node.lineage = bits(added.node);
  node.space = added.space;
  node.length = added.length;
  node.resident = static_cast<std::uint16_t>(added.resident & ((1U << groups()) - 1));
  node.added_at = state_.commits + 1;
  node.reported_late = state_.now.keyframe && state_.horizon.before != Miss::never_seen;
  node.added_us = node.used_us = node.reported_late ? kTimeNotKnown : state_.us;
  node.used_work = state_.work;
  place(slot, parent);
  if (const MirrorRequest* request = added.request ? state_.requests.find(added.request) : nullptr)
    take_over(node, *request);
  LogLine& line = state_.now.line;
  ++line.added;
  line.node = node.id;
  line.tokens += node.length;
  state_.added_tokens += node.length;
  state_.past.remember({node.id, state_.commits + 1, added.kKind});
  if (watcher_) watcher_->added(node);
}

void Apply::operator()(const event::NodeNamed& named) {
  MirrorNode* node = state_.writable(bits(named.node));
  if (!node) return;
  node->digest = named.digest;
  node->created = named.created;
  state_.reach(node->created);
  if (node->parent == 0) {
    state_.first_pages[node->digest].push_back(node->space);
    const bool stays = cleared_ && staying_.contains(node->id);
    if (!stays) state_.now.fresh_digest = node->digest, state_.now.fresh_space = node->space;
  }
  node->page_digests = {static_cast<std::uint32_t>(node->digest)};
  set_path(*node);
  state_.now.fresh.push_back(node->id);
}

/// Digests arrive in order from page 1: a damaged recording cannot make room for pages that it does not contain.
void Apply::operator()(const event::NodeDigests& some) {
  MirrorNode* node = state_.writable(bits(some.node));
  if (!node || some.place != node->page_digests.size()) return;
  const std::size_t pages = node->length / state_.page_size;
  for (const std::uint32_t digest : some.digests)
    if (node->page_digests.size() < pages) node->page_digests.push_back(digest);
}

void Apply::set_path(MirrorNode& node) const {
  node.path = state_.above(node);
  for (std::size_t i = 0; i < node.page_digests.size(); ++i) {
    node.path = mix_path(node.path, node.page_digests[i]);
    if (i == 0) node.lineage = node.path;
  }
  if (node.page_digests.size() * std::uint64_t{state_.page_size} < node.length) node.path = node.lineage;
}

void Apply::settle_nodes() {
  CommitSoFar& now = state_.now;
  for (const std::uint64_t id : now.fresh) {
    MirrorNode* const node = state_.writable(id);
    if (!node) continue;
    const std::size_t pages = node->length / state_.page_size;
    // Digests of the words serve all pages alike: the feed sends its own not in keyframes, and of small pages only that
    // of a node's first one, with which the same page in the middle of another node could not be compared.
    if (node->words.size() == node->length && !state_.has_overlap) {
      node->page_digests.assign(pages, 0);
      for (std::size_t i = 0; i < pages * state_.page_size; ++i) {
        std::uint32_t& digest = node->page_digests[i / state_.page_size];
        digest = static_cast<std::uint32_t>(mix_path(digest, node->words[i]));
      }
    }
    state_.has_unnamed_pages |= node->page_digests.size() < pages;
    set_path(*node);
    if (cleared_ && staying_.contains(id)) continue;
    const std::size_t known = now.returned.size();
    state_.past.revive(*node, state_.above(*node), state_.page_size, now.returned);
    for (std::size_t i = known; watcher_ && !now.keyframe && i < now.returned.size(); ++i)
      watcher_->returned(*node, now.returned[i], now.line.fetch);
  }
  now.fresh.clear();
}

/// Words arrive in order from the first: a damaged recording cannot make room for words that it does not contain.
void Apply::operator()(const event::NodeWords& some) {
  MirrorNode* node = state_.writable(bits(some.node));
  if (!node || some.first != node->words.size()) return;
  for (const std::uint32_t word : some.words)
    if (node->words.size() < node->length) node->words.push_back(word);
}

void Apply::operator()(const event::NodeSplit& split) {
  NodeBlocks& nodes = state_.nodes;
  const std::uint32_t lower = slot_of(split.node), upper = slot_of(split.upper);
  const Units units = split.units;
  settle_nodes();
  if (!lifted_.empty() || !state_.find(bits(split.node)) || upper == 0 || upper >= kMostSlots || units == 0 ||
      units >= nodes[lower].length || nodes[upper].id)
    return;
  MirrorNode& above = nodes[upper];
  MirrorNode& below = nodes[lower];
  above = below;
  above.pages.clear();
  above.id = above.lineage = bits(split.upper);
  above.length = units;
  above.first_child = above.last_child = lower;
  above.children = 1;
  above.added_at = state_.commits + 1;
  above.inserts = split.inserts;
  above.words.resize(std::min<std::size_t>(above.words.size(), units));
  const std::size_t pages = std::min<std::size_t>(above.page_digests.size(), units / state_.page_size);
  const bool has_rest = pages < below.page_digests.size();
  above.page_digests.resize(std::max<std::size_t>(pages, std::min<std::size_t>(1, above.page_digests.size())));
  // The upper part takes the lower part's place among its siblings.
  MirrorSpace& space = state_.space_of(below);
  (below.prev ? nodes[below.prev].next : below.parent ? nodes[below.parent].first_child : space.first_child) = upper;
  (below.next ? nodes[below.next].prev : below.parent ? nodes[below.parent].last_child : space.last_child) = upper;
  below.parent = upper;
  below.next = below.prev = 0;
  below.cut_parts(above, units);
  below.begin += units;
  below.length -= units;
  // Without its own digests, the lower part keeps the digest of the whole: it is found again if the same cut comes
  // back.
  if (has_rest && pages > 0)
    below.page_digests.erase(below.page_digests.begin(),
                             below.page_digests.begin() + static_cast<std::ptrdiff_t>(pages));
  set_path(above);
  set_path(below);
  below.words.erase(below.words.begin(), below.words.begin() + static_cast<std::ptrdiff_t>(
                                                                   std::min<std::size_t>(below.words.size(), units)));
  for (std::size_t g = 0; g < groups(); ++g)
    if (state_.pools[g].reach == kWholePath) above.hold[g] = below.hold[g] > 0;
  for (std::size_t g = 0; g < groups(); ++g)
    if (state_.waits(above, g)) ++state_.pools[g].waiting;
  const std::uint32_t cut = units / state_.page_size;
  std::vector<PageRun> rest;
  for (const PageRun& run : below.pages) {
    const std::uint32_t here = run.place >= cut ? 0 : std::min(run.count, cut - run.place);
    if (here > 0) {
      above.pages.push_back({run.place, run.first, here, run.group});
      own(run.group, {run.first, here}, upper);
    }
    if (here < run.count) rest.push_back({run.place + here - cut, run.first + here, run.count - here, run.group});
  }
  below.pages = std::move(rest);
  ++state_.node_count;
  ++space.nodes;
  ++state_.now.line.split;
  state_.past.remember({below.id, state_.commits + 1, split.kKind});
  if (watcher_) watcher_->split(above);
}

void Apply::report_removal(const MirrorNode& node) const {
  if (!watcher_) return;
  for (std::size_t g = 0; g < groups(); ++g)
    if (node.has(g)) watcher_->left(node, g, state_.now.line.operation);
  watcher_->removed(node);
}

void Apply::operator()(const event::NodeJoined& joined) {
  NodeBlocks& nodes = state_.nodes;
  const std::uint32_t upper = slot_of(joined.node), lower = slot_of(joined.child);
  settle_nodes();
  if (!lifted_.empty() || !state_.find(bits(joined.node)) || !state_.find(bits(joined.child))) return;
  MirrorNode& above = nodes[upper];
  MirrorNode& below = nodes[lower];
  if (below.parent != upper || above.children != 1 || above.resident != below.resident) return;
  if (watcher_) watcher_->joining(above);
  const std::uint32_t places = above.length / state_.page_size;
  for (PageRun& run : below.pages) {
    run.place += places;
    own(run.group, {run.first, run.count}, upper);
    above.pages.push_back(run);
  }
  if (above.words.size() == above.length) above.words.insert(above.words.end(), below.words.begin(), below.words.end());
  if (above.page_digests.size() == places)
    above.page_digests.insert(above.page_digests.end(), below.page_digests.begin(), below.page_digests.end());
  above.path = below.path;
  if (below.brought.until > below.brought.from) {
    // If the two parts are not adjacent, one of them is dropped: less is known, but nothing wrong.
    const bool meet = above.brought.until >= below.brought.from && above.brought.until > above.brought.from;
    above.brought = {meet ? above.brought.from : below.brought.from, below.brought.until};
  }
  above.append_parts(below);
  above.length += below.length;
  above.first_child = below.first_child, above.last_child = below.last_child, above.children = below.children;
  for (std::uint32_t child = above.first_child; child; child = nodes[child].next) nodes[child].parent = upper;
  --state_.space_of(below).nodes;
  below = {};
  --state_.node_count;
  state_.past.remember({above.id, state_.commits + 1, joined.kKind});
}

void Apply::operator()(const event::NodeRemoved& removed) {
  settle_nodes();
  MirrorNode* found = state_.writable(bits(removed.node));
  if (!found || !lifted_.empty() || (found->children > 0 && staying_.empty())) return;
  MirrorNode& node = *found;
  while (const std::uint32_t child = node.first_child) {  // each gets its new place later in this commit
    detach(child);
    attach(child, 0, node.space);
  }
  report_removal(node);
  bury(node);
  if (node.has(0)) state_.evicted_tokens += node.length;
  for (std::size_t g = 0; g < groups(); ++g) {
    if (node.has(g)) count(node, g, false);
    free_pages(node, g);
  }
  MirrorSpace& space = state_.space_of(node);
  --space.nodes;
  space.tokens -= node.length;
  if (node.parent == 0) {
    auto& here = state_.first_pages[node.digest];
    std::erase(here, node.space);
    if (here.empty()) state_.first_pages.erase(node.digest);
  }
  if (removed.inherited && node.parent) {
    MirrorNode& parent = state_.nodes[node.parent];
    parent.priority = std::max(parent.priority, node.priority);
    parent.inserts += node.inserts;
    if (state_.pools[0].reach == kWholePath) parent.last_access = std::max(parent.last_access, node.last_access);
  }
  detach(slot_of(removed.node));
  LogLine& line = state_.now.line;
  ++line.removed;
  line.node = node.id;
  line.tokens += node.length;
  state_.past.remember({node.id, state_.commits + 1, removed.kKind});
  node = {};
  --state_.node_count;
}

void Apply::operator()(const event::NodeTombstoned& tombstoned) {
  MirrorNode* node = state_.writable(bits(tombstoned.node));
  if (!node || !node->has(tombstoned.group)) return;
  if (watcher_) watcher_->left(*node, tombstoned.group, state_.now.line.operation);
  count(*node, tombstoned.group, false);
  free_pages(*node, tombstoned.group);
  node->resident = static_cast<std::uint16_t>(node->resident & ~(1U << tombstoned.group));
  node->lost = static_cast<std::uint16_t>(node->lost | 1U << tombstoned.group);
  if (tombstoned.group == 0) state_.evicted_tokens += node->length;
  ++state_.now.line.tombstones;
  state_.now.line.tokens += node->length;
  state_.past.remember({node->id, state_.commits + 1, tombstoned.kKind});
}

void Apply::use(std::uint64_t node) {
  if (!state_.find(node)) return;
  for (std::uint32_t at = slot_of(NodeId{node}); at; at = state_.nodes[at].parent) {
    MirrorNode& covered = state_.nodes[at];
    if (watcher_) watcher_->used(covered);
    covered.used_us = state_.us;
    covered.used_work = state_.work;
    for (NodePart& part : covered.parts) part.used_us = state_.us, part.used_work = state_.work;
  }
}

void Apply::operator()(const event::NodeUsed& used) {
  state_.any_use = true;
  use(bits(used.node));
  if (!state_.find(bits(used.node))) return;
  for (std::uint32_t at = slot_of(used.node); at; at = state_.nodes[at].parent) {
    ++state_.nodes[at].hits;
    state_.nodes[at].last_access = used.tick;
  }
  state_.reach(used.tick);
  state_.past.remember({bits(used.node), state_.commits + 1, used.kKind});
  (*this)(event::Locked{.from = used.from, .node = used.node});
}

void Apply::operator()(const event::NodeCreated& created) {
  if (MirrorNode* node = state_.writable(bits(created.node))) node->created = created.created;
}

void Apply::operator()(const event::NodeHistory& history) {
  MirrorNode* node = state_.writable(bits(history.node));
  if (!node) return;
  node->priority = history.priority;
  node->last_access = history.last_access;
  node->hits = history.hits;
  state_.any_hit |= history.hits > 0;
  node->inserts = history.inserts;
}

void Apply::operator()(const event::NodeRanked& ranked) {
  if (state_.find(bits(ranked.node))) state_.pools[ranked.group].rank[slot_of(ranked.node)] = ranked.rank;
}

/// Keeps what identifies the node if it comes back.
void Apply::bury(const MirrorNode& node) {
  const Operation operation = state_.now.line.operation;
  Eviction eviction{.node = node.id,
                    .commit = state_.commits + 1,
                    .operation = operation,
                    .tick = state_.tick,
                    .evicted_before = state_.evicted_tokens,
                    .unmatched = node.matches == 0 && !node.reported_late,
                    .policy = operation == Operation::flush ? kFlushPolicy : state_.pools[0].policy};
  if (!state_.past.bury(node, std::move(eviction))) state_.horizon = {Miss::forgotten, state_.tick};
}

}  // namespace canopy::inspector
