// A prefix that find, match or hold returns ends where a node ends: a node with the boundary inside is split there. A
// split keeps the end and the id of the lower half. So an id stands for one depth as long as its node is in the tree.

#include "radix_index.h"

#include "child_search.h"
#include "key_prefetcher.h"
#include "path_prefetcher.h"

#include <algorithm>
#include <cstring>

namespace canopy::radix {
void RadixIndex::Config::visit(Options& options) {
  options.choice("accounting", accounting, kAccountingNames,
                 "rules by which a use is counted: Canopy's, or those of SGLang's RadixCache (August 2026) or "
                 "UnifiedRadixCache (0.5.23)");
  options.number("keep_free", keep_free, 0, 100,
                 "memory that free storage may keep, in percent of the storage in use; more if prefault took more");
  options.flag(
      "prefault", prefault,
      "take memory for a full pool (at most 256 MiB) at the start and keep up to four thirds of it, so that no "
      "insert waits for memory");
}

RadixIndex::RadixIndex(const Config& config, const Context& context)
    : accounting_(Accounting::of(config.accounting)),
      page_(context.page_size),
      holds_(context.groups.size()),
      runs_(context, config.keep_free, config.prefault),
      prints_(nodes_, runs_),
      leaving_(nodes_, runs_, context.page_size, context.groups.size()),
      events_(context.events, nodes_, holds_, runs_, context.page_size),
      now_(accounting_.first_tick()),
      groups_(context, nodes_, holds_, spaces_, events_, now_),
      results_(context.groups.size()) {
  holds_.resize(nodes_.slots());
}

/// Finds the deepest boundary on the key's path that every group can serve. Calls touch(slot) for each node that it
/// visits.
template <class Touch>
RadixIndex::Walk RadixIndex::walk(const Key& key, Touch&& touch) const {
  Slot at = spaces_.root(key.space);
  Walk best;
  if (at == 0) return best;
  // Units since the last tombstone. A path without one can be reused at any length.
  constexpr std::uint64_t kNoTombstone = ~std::uint64_t{0};
  std::array<std::uint64_t, kMaxGroups> since_tombstone;
  since_tombstone.fill(kNoTombstone);
  Units depth = 0, full = 0;
  ChildSearch search(nodes_, runs_, key, page_);
  while (const Slot next = search.below(at, depth)) {
    touch(next);
    const Units common = search.common();
    const Node& node = nodes_[next];
    bool serves = true, is_full = true;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      if (!(node.resident >> g & 1)) since_tombstone[g] = 0;
      else if (since_tombstone[g] != kNoTombstone) since_tombstone[g] += common;
      const bool whole_path = groups_[g].whole_path(), unbroken = since_tombstone[g] == kNoTombstone;
      serves &= unbroken || (!whole_path && since_tombstone[g] >= groups_[g].group.reach);
      is_full &= unbroken || !whole_path;
    }
    depth += common;
    if (serves) best = {next, common, depth, depth};
    if (is_full) full = depth;
    if (common < node.length) break;
    at = next;
  }
  best.full = full;
  return best;
}

Probe RadixIndex::peek(const Key& key) const {
  const Walk found = walk(key, [](Slot) {});
  Probe probe;
  probe.length = found.depth;
  probe.full_length = found.full;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const Units from = groups_[g].hold_from(found.depth, page_);
    Units end = found.depth;
    for (Slot at = found.node; at && nodes_[at].parent && end > from; at = nodes_[at].parent) {
      const Node& node = nodes_[at];
      if (holds_(at, g).count == 0) {
        if (node.resident >> g & 1) probe.evictable[g] += end - std::max(node.begin, from);
      } else if (groups_[g].whole_path()) {
        break;
      }
      end = node.begin;
    }
  }
  return probe;
}

/// Walks to the deepest boundary that every group can serve, and splits the node there. Leaves the path in path_,
/// unless the walk has already made it recent.
Found RadixIndex::arrive(const Key& key) {
  const Tick stamp = now_;
  const Walk found = walk(key, [&](Slot slot) {
    if (accounting_.match_walk_touches) touch(slot, stamp, true);
    else if (path_.reserve(path_.size() + 1)) path_.push_back(slot);
  });
  if (found.node == 0) return {NodeId::none, 0, found.full};
  if (!make_room(1 + groups_.size()) || !promise_pages(found.depth)) {
    ++cut_short_;
    return {NodeId::none, 0, found.full};
  }
  const Slot end = found.matched < nodes_[found.node].length ? split(found.node, found.matched) : found.node;
  return {nodes_.id(end), found.depth, found.full};
}

/// Makes the path to a node recent if a match does that (Accounting::match_touches).
void RadixIndex::use(Slot end, bool is_hit) {
  if (!accounting_.match_touches) return;
  // The walk may have split a node, which came first.
  const Tick used = read_clock();
  const bool waits_on_path = !groups_.one_whole_path();
  PathPrefetcher ahead(nodes_, holds_, path_);
  for (Slot at = end; nodes_[at].parent; at = nodes_[at].parent) {
    ahead.step();
    nodes_[at].hits += is_hit;
    for (std::size_t g = 0; g < groups_.size(); ++g)
      if (groups_[g].whole_path()) holds_(at, g).last_access = used;
    if (waits_on_path) groups_.requeue_in_windows(at);
  }
  if (accounting_.windows == Accounting::Windows::locked_and_a_page) touch_windows(end, used);
}

void RadixIndex::report_arrival(const RequestFacts& request) {
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    RequestFacts facts = request;
    facts.clock = groups_.clock(g);
    groups_.policy(g, request.space).arrived(facts);
  }
}

void RadixIndex::report_lock(Slot end, const Lock& lock, Tick used) const {
  IndexEvents* const to = accounting_.match_is_hit ? events_.all() : nullptr;
  if (to) to->used(nodes_.id(end), used, lock.from[0]);
  events_.locked(end, lock, accounting_.match_is_hit ? 1 : 0);
}

Lock RadixIndex::match(const Key& key, const RequestFacts& request) {
  if (accounting_.tick_per_operation || runs_.whole_units(key.words.size()) > 0) ++now_;
  report_arrival(request);
  const Tick stamp = now_;
  const Found found = arrive(key);
  if (found.node == NodeId::none) {
    path_.clear();
    Lock nothing;
    nothing.full_length = found.full_length;
    return nothing;
  }
  const Slot end = slot_of(found.node);
  use(end, accounting_.match_is_hit);
  const Lock lock = lock_at(end, found.full_length);
  if (!accounting_.match_is_hit && accounting_.match_touches) events_.facts_of_path(end);
  report_lock(end, lock, stamp);
  path_.clear_but_keep(kUsualPath);
  return lock;
}

Found RadixIndex::find(const Key& key) {
  if (accounting_.tick_per_operation || runs_.whole_units(key.words.size()) > 0) ++now_;
  const Found found = arrive(key);
  if (const Slot end = nodes_.find(found.node)) {
    use(end, false);
    groups_.requeue(end);
    if (accounting_.match_touches) events_.facts_of_path(end);
  }
  path_.clear_but_keep(kUsualPath);
  return found;
}

void RadixIndex::prefetch(std::span<const Key> keys) const {
  KeyPrefetcher prefetcher(nodes_, holds_, runs_, page_);
  for (std::size_t i = 0; i < keys.size(); i += KeyPrefetcher::kKeys)
    prefetcher.walk(keys.subspan(i, std::min(KeyPrefetcher::kKeys, keys.size() - i)),
                    [&](NamespaceId space) { return spaces_.root(space); });
}

Lock RadixIndex::hold(NodeId node, const RequestFacts* arrives) {
  const Slot end = nodes_.find(node);
  if (end == 0 || nodes_[end].parent == 0 || !may_hold(end)) return {};
  if (!make_room(groups_.size()) || !promise_pages(nodes_[end].end())) return ++cut_short_, Lock{};
  if (accounting_.tick_per_operation) ++now_;
  if (arrives) report_arrival(*arrives);
  if (accounting_.match_is_hit) use(end, true);
  const Lock lock = lock_at(end, nodes_[end].end());
  report_lock(end, lock, now_);
  return lock;
}

/// Ensures that pages() of a path of `units` units has memory: with windows a path is longer than what is resident of
/// it.
bool RadixIndex::promise_pages(Units units) {
  for (std::size_t g = 0; g < groups_.size() && !groups_.one_whole_path(); ++g)
    if (!results_[g].promise(units / page_)) return false;
  return true;
}

/// Returns true if every group has the pages that a lock on the node would hold.
bool RadixIndex::may_hold(Slot end) const {
  for (std::size_t g = 0; g < groups_.size() && !groups_.one_whole_path(); ++g) {
    const Units from = groups_[g].hold_from(nodes_[end].end(), page_);
    for (Slot at = end; nodes_[at].parent && nodes_[at].end() > from; at = nodes_[at].parent)
      if (!(nodes_[at].resident >> g & 1)) return false;
  }
  return true;
}

GroupPages RadixIndex::pages(NodeId node, Units from) {
  const Slot end = nodes_.find(node);
  if (end == 0 || nodes_[end].parent == 0) return {};
  Lock lock{id_of(node), node, nodes_[end].end()};
  for (std::size_t g = 0; g < groups_.size(); ++g) lock.from[g] = groups_[g].hold_from(lock.length, page_);
  return pages(lock, from);
}

GroupPages RadixIndex::pages(const Lock& lock, Units from) {
  clear_results();
  const Slot end = end_of(lock);
  if (end == 0 || from >= lock.length) return {};
  const std::size_t count = (lock.length - from) / page_, width = groups_.size();
  for (std::size_t g = 0; g < width; ++g)
    if (!results_[g].resize(count)) throw std::bad_alloc();
  for (Slot at = end; nodes_[at].parent && nodes_[at].end() > from; at = nodes_[at].parent) {
    const Node& node = nodes_[at];
    const Units begin = std::max(node.begin, from);
    const Page* pages = runs_.pages(node) + std::size_t{(begin - node.begin) / page_} * width;
    const std::size_t first = (begin - from) / page_, n = (node.end() - begin) / page_;
    if (width == 1 && groups_[0].whole_path()) {
      std::memcpy(results_[0].data() + first, pages, n * sizeof(Page));
      continue;
    }
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t g = 0; g < width; ++g)
        results_[g][first + i] = begin + static_cast<Units>(i) * page_ >= lock.from[g] ? pages[i * width + g] : 0;
  }
  return results_.result();
}

void RadixIndex::clear_results() {
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const Sizes& sizes = spaces_.sizes(g);
    results_.clear(g, (sizes.evictable + sizes.protected_) / page_);
  }
}

}  // namespace canopy::radix

CANOPY_PLUGIN("1.0.0",
              canopy::provide<canopy::PrefixIndex, canopy::radix::RadixIndex>(
                  "radix", "radix tree over pages; splits copy nothing, and the queue of victims is kept up to date"));
