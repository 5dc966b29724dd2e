#include "chunk_tree.h"

#include <canopy/plugin.h>

#include <algorithm>
#include <array>
#include <exception>

namespace canopy::python {
namespace {

constexpr std::size_t kFewest = 64;  // slots for which memory is taken at first

}  // namespace

/// A request's path, deepest chunk first.
class ChunkTree::Climb final : public Path {
 public:
  Climb(const ChunkTree& tree, std::span<const Slot> path) : tree_(tree), left_(path), clock_(tree.clock()) {}
  bool next(NodeFacts& facts) override {
    if (left_.empty()) return false;
    facts = tree_.facts(left_.back(), clock_);
    left_ = left_.first(left_.size() - 1);
    return true;
  }

 private:
  const ChunkTree& tree_;
  std::span<const Slot> left_;
  PolicyClock clock_;
};

ChunkTree::ChunkTree(const Config&, const Context& context)
    : page_(context.page_size),
      policy_(context.groups[0].eviction),
      events_(context.events),
      capacity_(context.groups[0].capacity),
      nodes_(1) {
  words_.resize(std::size_t{page_} + context.overlap);
}

PolicyClock ChunkTree::clock() const { return {allocated_, resident_ * page_, capacity_, now_}; }

NodeFacts ChunkTree::facts(Slot slot, const PolicyClock& clock) const {
  const Node& node = nodes_[slot];
  NodeFacts facts;
  facts.id = id(slot);
  facts.space = node.space;
  facts.begin = node.begin;
  facts.length = page_;
  facts.hits = node.hits;
  facts.inserts = node.inserts;
  facts.children = node.children;
  facts.created = node.created;
  facts.last_access = node.last_access;
  facts.spared = node.spared;
  facts.clock = clock;
  facts.tag = const_cast<std::uint64_t*>(&node.tag);  // the policy may write it, also in a const visit
  facts.parent_tag = node.parent ? &nodes_[node.parent].tag : nullptr;
  return facts;
}

/// Calls the policy, unless it has thrown before.
template <class Call>
void ChunkTree::guarded(Call&& call) noexcept {
  if (!failure_.empty()) return;
  try {
    call();
  } catch (const std::exception& error) {
    failure_ = *error.what() ? error.what() : "an exception without a message";
  } catch (...) {
    failure_ = "an exception that is no std::exception";
  }
}

Rank ChunkTree::rank(Slot slot) {
  Rank rank{0, nodes_[slot].last_access};
  guarded([&] { rank = policy_->rank(facts(slot)); });
  return rank;
}

void ChunkTree::requeue(Slot slot) {
  const Node& node = nodes_[slot];
  if (!node.here || node.held() || node.children > 0) return queue_.erase(slot);
  const RankQueue::Entry entry{rank(slot), ~node.begin, slot};  // the later one of two chunks of a request leaves first
  queue_.put(entry);
  report_rank(entry);
}

void ChunkTree::rank_all() {
  constexpr std::size_t kBatch = 256;
  std::vector<NodeFacts> batch;
  std::array<Rank, kBatch> ranks;
  std::vector<RankQueue::Entry>& entries = queue_.entries();
  ranked_at_ = allocated_;
  guarded([&] {
    batch.reserve(kBatch);
    const PolicyClock now = clock();
    for (std::size_t first = 0; first < entries.size(); first += kBatch) {
      const std::size_t count = std::min(kBatch, entries.size() - first);
      batch.clear();
      for (std::size_t i = 0; i < count; ++i) batch.push_back(facts(entries[first + i].slot, now));
      policy_->rank_many(batch, std::span(ranks).first(count));
      for (std::size_t i = 0; i < count; ++i) {
        entries[first + i].rank = ranks[i];
        report_rank(entries[first + i]);
      }
    }
  });
  if (!failure_.empty())
    for (RankQueue::Entry& entry : entries) entry.rank = {0, nodes_[entry.slot].last_access};
  queue_.reorder();
}

// ---- The tree ----

void ChunkTree::attach(Slot slot, Slot parent) {
  Node& node = nodes_[slot];
  node.parent = parent;
  if (parent == 0) return;
  Node& above = nodes_[parent];
  node.next = above.child, node.before = 0;
  if (above.child) nodes_[above.child].before = slot;
  above.child = slot;
  ++above.children;
  queue_.erase(parent);
}

void ChunkTree::detach(Slot slot) {
  Node& node = nodes_[slot];
  if (node.parent == 0) return;
  Node& above = nodes_[node.parent];
  (node.before ? nodes_[node.before].next : above.child) = node.next;
  if (node.next) nodes_[node.next].before = node.before;
  --above.children;
  node.parent = node.next = node.before = 0;
}

void ChunkTree::freed(Slot slot) {
  for (; slot != 0 && nodes_[slot].can_leave(); slot = nodes_[slot].parent) {
    ++movable_;
    if (nodes_[slot].parent) --nodes_[nodes_[slot].parent].stuck;
  }
}

/// REQUIRES: the node has just become one that cannot leave.
void ChunkTree::blocked(Slot slot) {
  for (;;) {
    --movable_;
    slot = nodes_[slot].parent;
    if (slot == 0) return;
    const bool could = nodes_[slot].can_leave();
    ++nodes_[slot].stuck;
    if (!could) return;
  }
}

ChunkTree::Slot ChunkTree::add(const Added& chunk) {
  // All memory is taken first, so that the operation cannot fail halfway.
  if (free_.empty()) {
    const std::size_t slots = std::max(kFewest, 2 * nodes_.size());
    free_.reserve(slots);
    stay_.reserve(slots);
    queue_.reserve(slots);
    nodes_.reserve(slots);
    for (std::size_t slot = slots; slot-- > nodes_.size();) free_.push_back(static_cast<Slot>(slot));
    nodes_.resize(slots);
  }
  ++now_;
  const Slot slot = free_.back();
  free_.pop_back();
  const std::uint32_t life = nodes_[slot].life + 1;
  Node& node = nodes_[slot] = {};
  node.life = life;
  node.begin = chunk.begin, node.space = chunk.space, node.page = chunk.page;
  node.created = now_, node.last_access = chunk.tick, node.print = chunk.print;
  node.here = true;
  ++resident_;
  allocated_ += page_;
  attach(slot, chunk.parent);
  ++movable_;
  report_added(slot);
  if (chunk.pinned) pin(slot);
  else requeue(slot);
  return slot;
}

void ChunkTree::adopt(Slot parent, Slot child) {
  const bool stuck = !nodes_[child].can_leave();
  attach(child, parent);
  moved_ = true;
  if (!stuck) return;
  const bool could = nodes_[parent].can_leave();
  ++nodes_[parent].stuck;
  if (could) blocked(parent);
}

void ChunkTree::part(Slot child) {
  const Slot above = nodes_[child].parent;
  if (above == 0) return;
  const bool stuck = !nodes_[child].can_leave();
  detach(child);
  printed_ = 0;  // the prints may be those of a path that is no longer one
  if (stuck) {
    --nodes_[above].stuck;
    freed(above);
  }
  requeue(above);
  moved_ = true;
}

void ChunkTree::part_stuck(Slot parent) {
  for (Slot child = nodes_[parent].child; nodes_[parent].stuck > 0;) {
    const Slot next = nodes_[child].next;
    if (!nodes_[child].can_leave()) part(child);
    child = next;
  }
}

/// Takes a node out of the tree. Its children stay, without a parent.
void ChunkTree::drop(Slot slot) {
  queue_.erase(slot);
  if (printed_ == slot) printed_ = nodes_[slot].parent;
  const bool could = nodes_[slot].can_leave();
  const Slot above = nodes_[slot].parent;
  if (could) --movable_;
  detach(slot);
  if (above && !could) {
    --nodes_[above].stuck;
    freed(above);
  }
  moved_ |= nodes_[slot].child != 0;
  while (const Slot child = nodes_[slot].child) detach(child);
  --resident_;
  nodes_[slot].here = false;
  free_.push_back(slot);
  if (above) requeue(above);
  if (events_ && events_->wants_nodes()) events_->removed(id(slot), true);
}

std::vector<ChunkTree::Slot> ChunkTree::remove(Slot slot) {
  ++now_;
  std::vector<Slot> children;
  for (Slot child = nodes_[slot].child; child != 0; child = nodes_[child].next) children.push_back(child);
  drop(slot);
  return children;
}

void ChunkTree::pin(Slot slot) {
  Node& node = nodes_[slot];
  if (node.pinned) return;
  const bool could = node.can_leave();
  node.pinned = true;
  if (could) blocked(slot);
  queue_.erase(slot);
  if (events_ && events_->wants_all()) events_->locked(id(slot), 0, node.begin);
}

void ChunkTree::unpin(Slot slot) {
  Node& node = nodes_[slot];
  if (!node.pinned) return;
  node.pinned = false;
  freed(slot);
  if (events_ && events_->wants_all()) events_->unlocked(id(slot), 0, node.begin);
  requeue(slot);
}

// ---- Requests ----

void ChunkTree::arrived(RequestFacts request) {
  request.clock = clock();
  guarded([&] { policy_->arrived(request); });
}

void ChunkTree::touch(Slot slot, Tick tick) {
  Node& node = nodes_[slot];
  if (node.last_access >= tick) return;
  node.last_access = tick;
  report_facts(slot);
  if (queue_.contains(slot)) requeue(slot);
}

void ChunkTree::ended(RequestFacts request, std::span<const Slot> path, std::span<const Use> uses, Tick tick) {
  for (std::size_t i = 0; i < path.size(); ++i) {
    Node& node = nodes_[path[i]];
    if (uses[i] != Use::none) node.last_access = tick;
    node.hits += uses[i] == Use::hit;
  }
  if (!path.empty()) ++nodes_[path.back()].inserts;
  request.clock = clock();
  Climb climb(*this, path);
  guarded([&] { policy_->ended(request, climb); });
  for (const Slot slot : path) {
    report_facts(slot);
    if (queue_.contains(slot)) requeue(slot);
  }
}

// ---- Eviction ----

void ChunkTree::begin_eviction(std::span<const Slot> stay) {
  ++now_;
  for (const Slot slot : stay) {
    Node& node = nodes_[slot];
    if (node.stays) continue;
    const bool could = node.can_leave();
    node.stays = true;
    stay_.push_back(slot);
    if (could) blocked(slot);
    queue_.erase(slot);
  }
  bool drifts = false;
  guarded([&] { drifts = policy_->volatility() == Volatility::epoch; });
  const std::uint64_t pool = capacity_ != kUnlimited ? capacity_ : resident_ * page_;
  if (drifts && (allocated_ - ranked_at_) * 50 >= pool) rank_all();
}

ChunkTree::Slot ChunkTree::evict_one() {
  for (;;) {
    const Slot slot = queue_.front().slot;
    Node& node = nodes_[slot];
    bool spare = false;
    if (node.spared != now_) guarded([&] { spare = policy_->spare(facts(slot)); });
    if (spare) {
      node.spared = now_;
      requeue(slot);
      continue;
    }
    guarded([&] {
      Eviction eviction{Cause::room, {}};
      if (policy_->reads_prints() == Prints::all) eviction.prefix_prints = prints_of(slot);
      policy_->evicted(facts(slot), eviction);
    });
    if (node.parent) nodes_[node.parent].inserts += node.inserts;  // it takes over what ended below it
    drop(slot);
    return slot;
  }
}

void ChunkTree::end_eviction() {
  for (const Slot slot : stay_) {
    nodes_[slot].stays = false;
    freed(slot);
    requeue(slot);
  }
  stay_.clear();
}

/// Returns the prints of the strides up to the end of a chunk; fewer if its path has a gap. A chunk is often evicted
/// after the one that continued it, so the prints of the last call are used again.
std::span<const std::uint64_t> ChunkTree::prints_of(Slot slot) {
  const std::size_t end = std::size_t{nodes_[slot].begin} + page_, count = end / kPrintStride;
  if (printed_ == slot && prints_.size() >= count) {
    prints_.resize(count);
    return prints_;
  }
  prints_.assign(count, 0);
  printed_ = slot;
  std::size_t missing = count;
  for (Slot at = slot; at != 0 && missing > 0; at = nodes_[at].parent) {
    const std::size_t chunk = nodes_[at].begin / page_;
    for (; missing > 0 && chunk_of_stride(missing - 1, page_) == chunk; --missing)
      prints_[missing - 1] = stride_print(nodes_[at].print, missing - 1);
  }
  if (missing > 0) prints_.clear(), printed_ = 0;
  return prints_;
}

GroupPages ChunkTree::clear() {
  ++now_;
  for (Slot slot = 1; slot < nodes_.size(); ++slot) {
    if (nodes_[slot].here) free_.push_back(slot);
    const std::uint32_t life = nodes_[slot].life;
    nodes_[slot] = {};
    nodes_[slot].life = life;
  }
  queue_.clear();
  stay_.clear();
  resident_ = movable_ = 0;
  printed_ = 0;
  moved_ = false;
  guarded([&] { policy_->cleared(); });
  if (events_ && events_->wants_nodes()) events_->cleared();
  return {};
}

bool ChunkTree::use_policy(std::size_t, EvictionStrategy* policy) {
  policy_ = policy;
  failure_.clear();
  for (Node& node : nodes_) node.tag = 0, node.spared = 0;
  rank_all();
  return true;
}

}  // namespace canopy::python

CANOPY_PLUGIN("1.0.0", canopy::provide<canopy::PrefixIndex, canopy::python::ChunkTree>(
                           "chunks", "the chunks of a cache whose keys are chained hashes"));
