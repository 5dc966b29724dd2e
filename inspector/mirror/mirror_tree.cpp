#include "mirror.h"

#include <algorithm>
#include <utility>

namespace canopy::inspector {

std::uint32_t Mirror::slot_of_id(std::uint64_t id) const { return canopy::slot_of(static_cast<NodeId>(id)); }

const MirrorNode* Mirror::find(std::uint64_t id) const {
  const MirrorNode& node = nodes_[slot_of_id(id)];
  return id != 0 && node.id == id ? &node : nullptr;
}

MirrorNode* Mirror::writable(std::uint64_t id) { return find(id) ? &nodes_[slot_of_id(id)] : nullptr; }

void Mirror::attach(std::uint32_t slot, std::uint32_t parent, NamespaceId space) {
  const auto at = static_cast<std::size_t>(space);
  if (spaces_.size() <= at) spaces_.resize(at + 1);
  MirrorNode& node = nodes_[slot];
  std::uint32_t& first = parent ? nodes_[parent].first_child : spaces_[at].first_child;
  std::uint32_t& last = parent ? nodes_[parent].last_child : spaces_[at].last_child;
  node.parent = parent;
  node.next = 0;
  node.prev = last;
  (last ? nodes_[last].next : first) = slot;
  last = slot;
  if (parent) ++nodes_[parent].children;
}

void Mirror::detach(std::uint32_t slot) {
  MirrorNode& node = nodes_[slot];
  Space& space = spaces_[static_cast<std::size_t>(node.space)];
  (node.prev ? nodes_[node.prev].next : node.parent ? nodes_[node.parent].first_child : space.first_child) = node.next;
  (node.next ? nodes_[node.next].prev : node.parent ? nodes_[node.parent].last_child : space.last_child) = node.prev;
  if (node.parent) --nodes_[node.parent].children;
}

void Mirror::add(const Event& event) {
  const std::uint32_t slot = slot_of_id(event.node);
  if (slot == 0 || slot >= kMostSlots || event.extra >= kMostTexts * 64) return;
  if (nodes_[slot].id) return;
  const auto above = static_cast<std::uint32_t>(event.a);
  const std::uint32_t parent = std::as_const(nodes_)[above].id ? above : 0;  // before it is here itself
  MirrorNode& node = nodes_[slot];
  node.id = event.node;
  node.space = static_cast<NamespaceId>(event.extra);
  node.begin = parent ? std::as_const(nodes_)[parent].end() : 0;
  node.length = static_cast<Units>(event.a >> 32);
  node.resident = static_cast<std::uint16_t>(event.flags & ((1U << pools_.size()) - 1));
  node.added_at = commits_ + 1;
  attach(slot, parent, node.space);
  ++node_count_;
  Space& space = spaces_[static_cast<std::size_t>(node.space)];
  ++space.nodes;
  space.tokens += node.length;
  for (std::size_t g = 0; g < pools_.size(); ++g)
    if (node.has(g)) count(node, g, true);
  if (const MirrorRequest* bringer = event.b ? find_request(event.b) : nullptr) take_over(node, *bringer);
  ++line_.added;
  line_.node = node.id;
  line_.tokens += node.length;
  remember(node.id, event.kind);
}

void Mirror::name(const Event& event) {
  MirrorNode* named = writable(event.node);
  if (!named) return;
  named->digest = event.a;
  named->created = event.b;
  tick_ = std::max(tick_, named->created);
  if (named->parent == 0) {
    first_pages_[event.a].push_back(named->space);
    fresh_digest_ = event.a, fresh_space_ = named->space;
  }
  revive(*named);
}

/// One after the other from the first: a damaged recording makes no room for what it has not.
void Mirror::say(const Event& event) {
  MirrorNode* said = writable(event.node);
  if (!said || event.extra != said->words.size()) return;
  for (const std::uint64_t two : {event.a, event.b})
    for (const std::uint64_t word : {two, two >> 32})
      if (said->words.size() < said->length) said->words.push_back(static_cast<std::uint32_t>(word));
}

void Mirror::split(const Event& event) {
  const std::uint32_t lower = slot_of_id(event.node), upper = slot_of_id(event.a);
  const auto units = static_cast<Units>(event.b);
  if (!find(event.node) || upper == 0 || upper >= kMostSlots || units == 0 || units >= nodes_[lower].length) return;
  if (nodes_[upper].id) return;
  MirrorNode& above = nodes_[upper];
  MirrorNode& below = nodes_[lower];
  above = below;
  above.pages.clear();
  above.id = event.a;
  above.length = units;
  above.first_child = above.last_child = lower;
  above.children = 1;
  above.added_at = commits_ + 1;
  above.inserts = event.extra;
  above.words.resize(std::min<std::size_t>(above.words.size(), units));
  // It takes the lower one's place among its siblings.
  Space& space = spaces_[static_cast<std::size_t>(below.space)];
  (below.prev ? nodes_[below.prev].next : below.parent ? nodes_[below.parent].first_child : space.first_child) = upper;
  (below.next ? nodes_[below.next].prev : below.parent ? nodes_[below.parent].last_child : space.last_child) = upper;
  below.parent = upper;
  below.next = below.prev = 0;
  below.begin += units;
  below.length -= units;
  below.words.erase(below.words.begin(), below.words.begin() + static_cast<std::ptrdiff_t>(
                                                                   std::min<std::size_t>(below.words.size(), units)));
  for (std::size_t g = 0; g < pools_.size(); ++g)
    if (pools_[g].reach == kWholePath) above.hold[g] = below.hold[g] > 0;
  const std::uint32_t cut = units / page_size_;
  std::vector<PageRun> rest;
  for (const PageRun& run : below.pages) {
    const std::uint32_t here = run.place >= cut ? 0 : std::min(run.count, cut - run.place);
    if (here > 0) {
      above.pages.push_back({run.place, run.first, here, run.group});
      own(run.group, run.first, here, upper);
    }
    if (here < run.count) rest.push_back({run.place + here - cut, run.first + here, run.count - here, run.group});
  }
  below.pages = std::move(rest);
  ++node_count_;
  ++space.nodes;
  ++line_.split;
  remember(event.node, event.kind);
}

void Mirror::remove(const Event& event) {
  if (!find(event.node) || find(event.node)->children > 0) return;
  const std::uint32_t slot = slot_of_id(event.node);
  MirrorNode& node = nodes_[slot];
  if (node.has(0)) evicted_tokens_ += node.length;
  for (std::size_t g = 0; g < pools_.size(); ++g) {
    if (node.has(g)) count(node, g, false);
    free_pages(node, g);
  }
  Space& space = spaces_[static_cast<std::size_t>(node.space)];
  --space.nodes;
  space.tokens -= node.length;
  if (node.parent == 0) {
    auto& here = first_pages_[node.digest];
    std::erase(here, node.space);
    if (here.empty()) first_pages_.erase(node.digest);
  }
  bury(node);
  if (event.flags == 1 && node.parent) {
    MirrorNode& parent = nodes_[node.parent];
    parent.priority = std::max(parent.priority, node.priority);
    parent.inserts += node.inserts;
    if (pools_[0].reach == kWholePath) parent.last_access = std::max(parent.last_access, node.last_access);
  }
  detach(slot);
  ++line_.removed;
  line_.node = node.id;
  line_.tokens += node.length;
  remember(node.id, event.kind);
  node = {};
  --node_count_;
}

void Mirror::hold(MirrorNode& node, std::size_t group, bool more) {
  if (node.has(group)) count(node, group, false);
  node.hold[group] += more ? 1U : ~0U;
  if (node.has(group)) count(node, group, true);
}

void Mirror::lock(std::uint64_t id, std::size_t g, std::uint64_t from) {
  if (!find(id)) return;
  const bool whole = pools_[g].reach == kWholePath;
  for (std::uint32_t at = slot_of_id(id); at && (whole || nodes_[at].end() > from); at = nodes_[at].parent) {
    const bool first = nodes_[at].hold[g] == 0;
    hold(nodes_[at], g, true);
    if (whole && !first) break;
  }
  if (g == 0) locked_node_ = id, remember(id, EventKind::locked);
}

void Mirror::unlock(std::uint64_t id, std::size_t g, std::uint64_t from) {
  if (!find(id)) return;
  const bool whole = pools_[g].reach == kWholePath;
  for (std::uint32_t at = slot_of_id(id); at && (whole || nodes_[at].end() > from); at = nodes_[at].parent) {
    hold(nodes_[at], g, false);
    if (whole && nodes_[at].hold[g] > 0) break;
  }
  if (g == 0) remember(id, EventKind::unlocked);
}

void Mirror::relax(const Event& event) {
  if (!find(event.node)) return;
  for (std::uint32_t at = slot_of_id(event.node); at && nodes_[at].end() > event.a; at = nodes_[at].parent)
    if (nodes_[at].end() <= event.b) hold(nodes_[at], event.group, false);
}

/// A keyframe tells how many locks hold each node; for whole paths the count kept here is of own locks and held
/// children.
void Mirror::settle_holds() {
  const std::size_t width = pools_.size();
  std::unordered_map<std::uint32_t, std::array<std::uint32_t, kMaxGroups>> extra;  // held children - their locks
  nodes_.each([&](std::uint32_t slot) {
    const MirrorNode& node = nodes_[slot];
    for (std::size_t g = 0; node.parent && g < width; ++g)
      if (node.hold[g]) extra[node.parent][g] += 1 - node.hold[g];
  });
  for (MirrorPool& pool : pools_) pool.counted.evictable = pool.counted.protected_ = 0;
  nodes_.each([&](std::uint32_t slot) {
    MirrorNode& node = nodes_[slot];
    const auto more = extra.find(slot);
    for (std::size_t g = 0; g < width; ++g) {
      if (pools_[g].reach == kWholePath && more != extra.end()) node.hold[g] += more->second[g];
      if (node.has(g)) count(node, g, true);
    }
  });
}

NodeState Mirror::state(const MirrorNode& node, std::size_t group) const {
  if (!node.has(group)) return NodeState::gap;
  return node.hold[group] ? NodeState::protected_ : NodeState::evictable;
}

bool Mirror::waits(const MirrorNode& node, std::size_t group) const {
  return node.id && node.has(group) && node.hold[group] == 0 &&
         (node.children == 0 || pools_[group].reach != kWholePath);
}

std::uint64_t Mirror::locks(const MirrorNode& node, std::size_t group) const {
  if (pools_[group].reach != kWholePath || node.id == 0) return node.hold[group];
  // Own locks are what its count has beyond its held children; summed over all that hangs below.
  std::uint64_t sum = 0;
  const std::uint32_t top = slot_of_id(node.id);
  for (std::uint32_t at = top; at;) {
    const MirrorNode& here = nodes_[at];
    std::uint32_t held = 0;
    for (std::uint32_t child = here.first_child; child; child = nodes_[child].next)
      held += nodes_[child].hold[group] > 0;
    sum += here.hold[group] - held;
    if (here.first_child) {
      at = here.first_child;
      continue;
    }
    while (at != top && nodes_[at].next == 0) at = nodes_[at].parent;
    at = at == top ? 0 : nodes_[at].next;
  }
  return sum;
}

std::vector<std::uint32_t> Mirror::next_to_leave(std::size_t group, std::size_t most) const {
  std::vector<std::uint32_t> waiting;
  nodes_.each([&](std::uint32_t slot) {
    if (waits(nodes_[slot], group)) waiting.push_back(slot);
  });
  const auto before = [&](std::uint32_t a, std::uint32_t b) {
    const MirrorNode &x = nodes_[a], &y = nodes_[b];
    if (x.rank[group] != y.rank[group]) return x.rank[group] < y.rank[group];
    if (pools_[group].reach != kWholePath && x.begin != y.begin) return x.begin < y.begin;
    return a < b;
  };
  const std::size_t shown = std::min(most, waiting.size());
  std::partial_sort(waiting.begin(), waiting.begin() + static_cast<std::ptrdiff_t>(shown), waiting.end(), before);
  waiting.resize(shown);
  return waiting;
}

}  // namespace canopy::inspector
