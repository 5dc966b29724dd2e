#include "radix_index.h"

#include "common_words.h"

#include <algorithm>
#include <cstring>

namespace canopy::radix {
namespace {

constexpr const char* kAccountings[] = {"default", "sglang"};

}  // namespace

void RadixIndex::Config::visit(Options& options) {
  options.choice("accounting", accounting, kAccountings, "what counts as a use: ours, or SGLang's to the digit");
}

RadixIndex::RadixIndex(const Config& config, const Context& context)
    : accounting_(config.accounting), page_(context.page_size), overlap_(context.overlap) {
  groups_.reserve(context.groups.size());
  for (const Group& group : context.groups)
    groups_.push_back({group, Queue(Places{&holds_, context.groups.size(), groups_.size()})});
  if (!holds_.resize(groups_.size())) stop_without_memory();
  if (accounting_ == Accounting::sglang) now_ = 2;  // the original's root read the clock twice
}

// ---- The walk -------------------------------------------------------------------------------------------------

Units RadixIndex::whole_units(std::size_t words) const {
  const std::size_t units = words > overlap_ ? words - overlap_ : 0;
  return static_cast<Units>(units / page_ * page_);
}

std::uint32_t RadixIndex::fingerprint(Slot parent, const std::uint32_t* first) const {
  return NodeTable::fingerprint(parent, first, std::size_t{page_} + overlap_);
}

const std::uint32_t* RadixIndex::words(const Node& node) const {
  const std::uint32_t* block = runs_.at(node.run);
  return block + kRunWords + (node.begin - reinterpret_cast<const Run*>(block)->depth);
}

const Page* RadixIndex::node_pages(const Node& node) const {
  const auto& run = *reinterpret_cast<const Run*>(runs_.at(node.run));
  return runs_.at(run.pages) + std::size_t{(node.begin - run.depth) / page_} * groups_.size();
}

Page* RadixIndex::node_pages(const Node& node) { return const_cast<Page*>(std::as_const(*this).node_pages(node)); }

/// The child of `parent` that shares at least a page with the key from `depth` on, and how many units it shares.
Slot RadixIndex::child(Slot parent, const Key& key, Units depth, Units limit, Units& common) const {
  if (limit - depth < page_) return 0;
  const std::uint32_t* wanted = key.words.data() + depth;
  Slot found = 0;
  nodes_.candidates(fingerprint(parent, wanted), [&](Slot slot) {
    const Node& node = nodes_[slot];
    if (node.parent != parent) return false;
    const std::size_t most = std::size_t{std::min(node.length, limit - depth)} + overlap_;
    const std::size_t same = common_words(words(node), wanted, most);
    const std::size_t units = same > overlap_ ? (same - overlap_) / page_ * page_ : 0;
    if (units == 0) return false;
    common = static_cast<Units>(units);
    found = slot;
    return true;
  });
  return found;
}

/// The deepest boundary of the key's path that every group can serve; `touch` hears of every node on the way.
template <class Touch>
RadixIndex::Walk RadixIndex::walk(const Key& key, Touch&& touch) const {
  const Units limit = whole_units(key.words.size());
  const auto space = static_cast<std::size_t>(key.space);
  Slot at = space < spaces_.size() ? spaces_[space].root : 0;
  Walk best;
  if (at == 0) return best;
  // Units since the last gap; a path that never had one serves however short it is.
  constexpr std::uint64_t kNoGap = ~std::uint64_t{0};
  std::array<std::uint64_t, kMaxGroups> since_gap;
  since_gap.fill(kNoGap);
  Units depth = 0, common = 0;
  while (const Slot next = child(at, key, depth, limit, common)) {
    touch(next);
    const Node& node = nodes_[next];
    bool serves = true;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      if (!(node.resident >> g & 1)) since_gap[g] = 0;
      else if (since_gap[g] != kNoGap) since_gap[g] += common;
      serves &= since_gap[g] == kNoGap || (!groups_[g].whole_path() && since_gap[g] >= groups_[g].group.reach);
    }
    depth += common;
    if (serves) best = {next, common, depth};
    if (common < node.length) break;
    at = next;
  }
  return best;
}

Probe RadixIndex::peek(const Key& key) const {
  const Walk found = walk(key, [](Slot) {});
  Probe probe;
  probe.length = found.depth;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    Units covered = 0, length = found.matched;
    for (Slot at = found.node; at && nodes_[at].parent; at = nodes_[at].parent, length = nodes_[at].length) {
      if (groups_[g].whole_path() ? hold(at, g).count > 0 : covered >= groups_[g].group.reach) break;
      if (hold(at, g).count == 0 && (nodes_[at].resident >> g & 1)) probe.evictable[g] += length;
      covered += length;
    }
  }
  return probe;
}

Lock RadixIndex::match(const Key& key, const RequestFacts& request) {
  const bool sglang = accounting_ == Accounting::sglang;
  if (!sglang || whole_units(key.words.size()) > 0) ++now_;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    RequestFacts facts = request;
    facts.clock = clock(g);
    groups_[g].group.eviction->arrived(facts);
  }
  const Tick stamp = now_;
  const Walk found = walk(key, [&](Slot slot) {
    if (sglang) touch(slot, stamp);
  });
  if (found.node == 0 || !make_room(1)) return {};
  const Slot end = found.matched < nodes_[found.node].length ? split(found.node, found.matched) : found.node;
  if (!sglang)
    for (Slot at = end; nodes_[at].parent; at = nodes_[at].parent) {
      ++nodes_[at].hits;
      for (std::size_t g = 0; g < groups_.size(); ++g)
        if (groups_[g].whole_path()) hold(at, g).last_access = stamp;
    }
  return lock_at(end);
}

GroupPages RadixIndex::pages(const Lock& lock, Units from) {
  clear_out();
  const Slot end = nodes_.find(lock.node);
  if (end == 0 || from >= lock.length) return {};
  const std::size_t count = (lock.length - from) / page_, width = groups_.size();
  for (std::size_t g = 0; g < width; ++g)
    if (!out_[g].resize(count)) stop_without_memory();
  for (Slot at = end; nodes_[at].parent && nodes_[at].end() > from; at = nodes_[at].parent) {
    const Node& node = nodes_[at];
    const Units begin = std::max(node.begin, from);
    const Page* pages = node_pages(node) + std::size_t{(begin - node.begin) / page_} * width;
    const std::size_t first = (begin - from) / page_, n = (node.end() - begin) / page_;
    if (width == 1) {
      std::memcpy(out_[0].data() + first, pages, n * sizeof(Page));
      continue;
    }
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t g = 0; g < width; ++g) out_[g][first + i] = pages[i * width + g];
  }
  return out();
}

// ---- Growing --------------------------------------------------------------------------------------------------

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
  above.inserts = accounting_ == Accounting::sglang ? below.inserts : 0;
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
  if (accounting_ == Accounting::sglang) {
    ++now_;
    for (std::size_t g = 0; g < groups_.size(); ++g) hold(upper, g).last_access = now_;
    above.created = ++now_;
  }
  requeue(upper);
  requeue(lower);
  return upper;
}

Inserted RadixIndex::insert(const Lock& lock, const Key& key, const GroupPages& pages, InsertFacts facts) {
  const bool sglang = accounting_ == Accounting::sglang;
  const Units limit = whole_units(key.words.size());
  const Tick stamp = ++now_;
  clear_out();

  const Brought brought{pages, lock.length};
  const bool stale = lock.node != NodeId::none && !holds(lock);
  const Slot start = stale ? 0 : lock.node == NodeId::none ? root_of(key.space) : nodes_.find(lock.node);
  Slot at = start;
  if (at == 0 || limit < lock.length || !make_room(2 + 2 * residency_changes(brought, limit))) {
    refused_ += stale;
    keep_out(brought, lock.length, limit, ~0U);
    return {lock, lock.length, out()};
  }
  if (sglang)
    for (Slot up = at; nodes_[up].parent; up = nodes_[up].parent) touch(up, stamp), count_insert(up, facts);

  Units depth = lock.length, common = 0;
  while (Slot next = child(at, key, depth, limit, common)) {
    if (sglang) touch(next, stamp);
    if (common < nodes_[next].length) next = split(next, common);
    if (sglang) count_insert(next, facts);
    keep_out(brought, depth, depth + common, nodes_[next].resident);
    depth += common;
    at = nodes_[next].resident == all_groups() ? next : refill(next, brought);
  }
  const Units had = depth;
  if (depth < limit) at = append(at, key, depth, limit, brought, facts);
  if (!sglang && nodes_[at].parent) {
    count_insert(at, facts);
    for (std::size_t g = 0; g < groups_.size(); ++g)
      if (groups_[g].whole_path()) hold(at, g).last_access = stamp;
  }
  const Lock deeper = lock_at(at);
  for (std::size_t g = 0; g < groups_.size(); ++g) let_go(start, g, lock.from[g]);
  drop_empty_root(at);
  return {deeper, had, out()};
}

/// What an insert means to a node it ended in (in sglang's accounting: or passed through).
void RadixIndex::count_insert(Slot slot, InsertFacts facts) {
  Node& node = nodes_[slot];
  node.priority = std::max(node.priority, facts.priority);
  if (facts.chunked) return;
  ++node.inserts;
  if (accounting_ == Accounting::sglang) ++node.hits;
}

void RadixIndex::touch(Slot slot, Tick stamp) {
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    hold(slot, g).last_access = stamp;
    if (hold(slot, g).place != Queue::kNowhere) requeue(slot, g);
  }
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
  for (std::size_t g = 0; g < groups_.size(); ++g)
    for (Units depth = from; (mask >> g & 1) && depth < to; depth += page_)
      if (const Page page = brought.page(g, depth, page_)) out_[g].push_back(page);
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
      requeue(piece, g);
    }
    if (cut >= end) return node;
  }
}

/// A run for [depth, limit) and nodes on it, a new one wherever a group's residency changes. Returns the
/// deepest; `parent`, and the pages are the caller's again, if the system has no memory.
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
    keep_out(brought, depth, limit, ~0U);
    return parent;
  }
  auto& head = *reinterpret_cast<Run*>(runs_.at(run));
  head = {depth, 0, page_block, 0};
  std::memcpy(runs_.at(run) + kRunWords, key.words.data() + depth, count * sizeof(std::uint32_t));
  Page* into = runs_.at(page_block);
  const std::size_t skip = (depth - brought.from) / page_;
  if (width == 1) std::memcpy(into, brought.pages[0].data() + skip, pages * sizeof(Page));
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
    if (accounting_ == Accounting::sglang) {
      ++now_;
      for (std::size_t g = 0; g < width; ++g) hold(slot, g).last_access = now_;
      node.created = ++now_;
      count_insert(slot, facts);
    }
    nodes_.attach(parent, slot);
    nodes_.file(fingerprint(parent, words(node)), slot);
    for (std::size_t g = 0; g < width; ++g)
      if (mask >> g & 1) arrive(slot, g), groups_[g].allocated += node.length;
    requeue(parent);
    requeue(slot);
    parent = slot;
    depth = end;
  }
  return parent;
}

// ---- Holding --------------------------------------------------------------------------------------------------

/// Locks the path that ends at `node`, in each group as far up as its reach goes.
Lock RadixIndex::lock_at(Slot node) {
  if (nodes_[node].parent == 0) return {};
  Lock lock{nodes_.id(node), nodes_[node].end(), {}};
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    Units covered = 0;
    for (Slot at = node; nodes_[at].parent && covered < groups_[g].group.reach; at = nodes_[at].parent) {
      const bool first = hold(at, g).count++ == 0;
      if (first) move(at, g, true);
      if (groups_[g].whole_path()) {
        if (!first) break;  // everything above is held already, through this node
        continue;
      }
      if (accounting_ == Accounting::standard) hold(at, g).last_access = now_;
      covered += nodes_[at].length;
      lock.from[g] = nodes_[at].begin;
    }
  }
  return lock;
}

/// Undoes what lock_at did in one group, for the nodes that end deeper than `from`.
void RadixIndex::let_go(Slot node, std::size_t group, Units from) {
  for (Slot at = node; nodes_[at].parent && nodes_[at].end() > from; at = nodes_[at].parent) {
    const bool last = --hold(at, group).count == 0;
    if (last) move(at, group, false);
    else if (groups_[group].whole_path()) break;
  }
}

void RadixIndex::relax(Lock& lock, std::size_t group, Units from) {
  const Slot node = nodes_.find(lock.node);
  if (node == 0 || groups_[group].whole_path()) return;
  Units keeps = lock.from[group];
  for (Slot at = node; nodes_[at].parent && nodes_[at].end() > lock.from[group]; at = nodes_[at].parent) {
    if (at == node || nodes_[at].end() > from) keeps = nodes_[at].begin;
    else if (--hold(at, group).count == 0) move(at, group, false);
  }
  lock.from[group] = keeps;
}

class RadixIndex::PathOf final : public Path {
 public:
  PathOf(RadixIndex& index, Slot end, std::size_t group) : index_(index), at_(end), group_(group) {}
  bool next(NodeFacts& facts) override {
    if (at_ == 0 || index_.nodes_[at_].parent == 0) return false;
    facts = index_.facts(at_, group_);
    at_ = index_.nodes_[at_].parent;
    return true;
  }

 private:
  RadixIndex& index_;
  Slot at_;
  std::size_t group_;
};

void RadixIndex::release(const Lock& lock, const RequestFacts* finished) {
  if (accounting_ == Accounting::standard) ++now_;
  if (lock.node != NodeId::none && !holds(lock)) {
    ++refused_;
    return;
  }
  const Slot node = nodes_.find(lock.node);
  for (std::size_t g = 0; finished && g < groups_.size(); ++g) {
    RequestFacts told = *finished;
    told.clock = clock(g);
    PathOf path(*this, node, g);
    groups_[g].group.eviction->finished(told, path);
  }
  for (std::size_t g = 0; node && g < groups_.size(); ++g) let_go(node, g, lock.from[g]);
  // Its pages may all have left while it was held: then it was there for this lock alone.
  if (node && nodes_[node].children == 0 && nodes_[node].resident == 0 && !held(node)) remove(node);
}

/// False for a lock whose node has left, or that nobody can be holding any more.
bool RadixIndex::holds(const Lock& lock) const {
  const Slot node = nodes_.find(lock.node);
  return node != 0 && held(node);
}

bool RadixIndex::held(Slot slot) const {
  for (std::size_t g = 0; g < groups_.size(); ++g)
    if (hold(slot, g).count > 0) return true;
  return false;
}

Sizes& RadixIndex::space_sizes(NamespaceId space, std::size_t group) {
  return spaces_[static_cast<std::size_t>(space)].sizes[group];
}

/// The node's pages of a group came in.
void RadixIndex::arrive(Slot slot, std::size_t group) {
  const Node& node = nodes_[slot];
  for (Sizes* sizes : {&sizes_[group], &space_sizes(node.space, group)})
    (hold(slot, group).count ? sizes->protected_ : sizes->evictable) += node.length;
}

/// Between evictable and protected.
void RadixIndex::move(Slot slot, std::size_t group, bool to_protected) {
  const Node& node = nodes_[slot];
  if (node.resident >> group & 1)
    for (Sizes* sizes : {&sizes_[group], &space_sizes(node.space, group)}) {
      (to_protected ? sizes->protected_ : sizes->evictable) += node.length;
      (to_protected ? sizes->evictable : sizes->protected_) -= node.length;
    }
  requeue(slot, group);
}

}  // namespace canopy::radix

CANOPY_PLUGIN("1.0.0", canopy::provide<canopy::PrefixIndex, canopy::radix::RadixIndex>(
                           "radix", "radix tree over pages; splits copy nothing, the queue of victims is kept"));
