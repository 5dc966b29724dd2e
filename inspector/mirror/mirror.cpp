#include "mirror.h"

#include <algorithm>
#include <cstring>

namespace canopy::inspector {
namespace {

constexpr std::size_t kRequestsKept = 8192, kSamplesKept = 8192, kLogKept = 4096, kMomentsKept = std::size_t{1} << 16,
                      kGhostsKept = std::size_t{1} << 20;

// What no engine of this machine has: a recording that says so is damaged, and that part of it is passed over.
constexpr std::uint32_t kMostSlots = std::uint32_t{1} << 27;
constexpr std::size_t kMostTexts = 65536;

/// Where ghosts of a namespace's first nodes hang: no node has such an id.
std::uint64_t root_key(NamespaceId space) { return ~static_cast<std::uint64_t>(space); }

constexpr bool ends(RequestPhase phase) { return phase == RequestPhase::finished || phase == RequestPhase::aborted; }

}  // namespace

Mirror::Mirror(const FeedHeader& header)
    : page_size_(header.page_size), has_words_(header.tokens != 0), pools_(header.groups) {
  for (std::size_t g = 0; g < pools_.size(); ++g) pools_[g].reach = static_cast<Units>(header.reaches[g]);
}

void Mirror::take(std::span<const Event> events) {
  while (!events.empty()) {
    const auto end =
        std::find_if(events.begin(), events.end(), [](const Event& one) { return one.kind == EventKind::commit; });
    if (end == events.end()) {
      pending_.insert(pending_.end(), events.begin(), events.end());
      return;
    }
    const auto count = static_cast<std::size_t>(end - events.begin()) + 1;
    if (pending_.empty()) {
      take_commit(events.first(count));
    } else {
      pending_.insert(pending_.end(), events.begin(), end + 1);
      take_commit(pending_);
      pending_.clear();
    }
    events = events.subspan(count);
  }
}

void Mirror::lost() {
  pending_.clear();
  in_step_ = false;
}

void Mirror::reset() {
  forget();
  pending_.clear();
  requests_.clear();
  request_places_.clear();
  samples_.clear();
  sample_every_ = 1;
  log_.clear();
  moments_.clear();
  ghosts_.clear();
  ghost_count_ = 0;
  in_step_ = false;
  commits_ = us_ = drift_ = 0;
  tick_ = 0;
  prompt_tokens_ = hit_tokens_ = evicted_tokens_ = request_count_ = 0;
}

void Mirror::take_commit(std::span<const Event> events) {
  const bool keyframe = events.front().kind == EventKind::keyframe;
  // Somebody else asked for it: what it says is known here already.
  if (keyframe ? in_step_ : !in_step_) return;
  if (keyframe) forget();
  line_ = {};
  revived_ = {};
  filled_ = false;
  fresh_digest_ = locked_node_ = 0;
  // A pool that grew did so before its new pages were handed out.
  for (const Event& event : events)
    if (event.kind == EventKind::pool_sized) apply(event);
  for (const Event& event : events)
    if (event.kind != EventKind::pool_sized) apply(event);
  if (keyframe) {
    settle_holds();
    in_step_ = true;
  }
  commit(events.back());
}

/// The tree and the pools; what was learned over time stays.
void Mirror::forget() {
  nodes_.clear();
  node_count_ = 0;
  for (MirrorPool& pool : pools_) {
    pool.pages = 0;
    pool.counted = pool.told = {};
    pool.owner.clear();
  }
  for (Space& space : spaces_) space.first_child = space.last_child = 0, space.tokens = space.nodes = 0;
  first_pages_.clear();
  plugins_.clear();
  refusals_.clear();
  for (MirrorRequest& request : requests_)
    if (!request.ended()) request.ended_at = commits_ + 1, request.pages.clear();
  running_ = 0;
}

std::uint32_t Mirror::slot_of_id(std::uint64_t id) const { return canopy::slot_of(static_cast<NodeId>(id)); }

const MirrorNode* Mirror::find(std::uint64_t id) const {
  const MirrorNode& node = nodes_[slot_of_id(id)];
  return id != 0 && node.id == id ? &node : nullptr;
}

void Mirror::apply(const Event& event) {
  if (event.group >= pools_.size()) return;
  const auto node = [&]() -> MirrorNode* { return const_cast<MirrorNode*>(find(event.node)); };
  switch (event.kind) {
    case EventKind::node_added:
      return add(event);
    case EventKind::node_named:
      if (MirrorNode* named = node()) {
        named->digest = event.a;
        named->created = event.b;
        tick_ = std::max(tick_, named->created);
        const std::uint64_t below = named->parent ? nodes_[named->parent].id : root_key(named->space);
        if (named->parent == 0) {
          first_pages_[event.a].push_back(named->space);
          fresh_digest_ = event.a, fresh_space_ = named->space;
        }
        const auto ghosts = ghosts_.find(below);
        if (ghosts == ghosts_.end()) return;
        const auto same = std::find_if(ghosts->second.begin(), ghosts->second.end(), [&](const Ghost& ghost) {
          return ghost.digest == event.a && ghost.begin == named->begin;
        });
        if (same == ghosts->second.end()) return;
        const Ghost ghost = *same;
        if (revived_.id == 0) revived_ = ghost;
        ghosts->second.erase(same);
        --ghost_count_;
        if (auto children = ghosts_.extract(ghost.id)) {
          children.key() = named->id;
          ghosts_.insert(std::move(children));
        }
      }
      return;
    case EventKind::node_words:
      if (MirrorNode* said = node(); said && event.extra < said->length) {
        if (said->words.size() < event.extra + 4) said->words.resize(event.extra + 4);
        const std::uint32_t words[4] = {static_cast<std::uint32_t>(event.a), static_cast<std::uint32_t>(event.a >> 32),
                                        static_cast<std::uint32_t>(event.b), static_cast<std::uint32_t>(event.b >> 32)};
        std::copy(words, words + 4, said->words.begin() + event.extra);
        if (said->words.size() > said->length) said->words.resize(said->length);
      }
      return;
    case EventKind::node_pages:
      return adopt_pages(event);
    case EventKind::node_split:
      return split(event);
    case EventKind::node_removed:
      return remove(event);
    case EventKind::node_emptied:
      if (MirrorNode* emptied = node(); emptied && emptied->has(event.group)) {
        count(*emptied, event.group, false);
        free_pages(*emptied, event.group);
        emptied->resident = static_cast<std::uint16_t>(emptied->resident & ~(1U << event.group));
        if (event.group == 0) evicted_tokens_ += emptied->length;
        ++line_.gaps;
        line_.tokens += emptied->length;
        remember(event.node, event.kind);
      }
      return;
    case EventKind::node_used:
      for (std::uint32_t at = slot_of_id(event.node); node() && at; at = nodes_[at].parent) {
        ++nodes_[at].hits;
        nodes_[at].last_access = event.a;
      }
      tick_ = std::max(tick_, event.a);
      remember(event.node, event.kind);
      return;
    case EventKind::node_created:
      if (MirrorNode* told = node()) told->created = event.a;
      return;
    case EventKind::node_facts:
      if (MirrorNode* told = node()) {
        told->priority = static_cast<std::int32_t>(event.extra);
        told->last_access = event.a;
        told->hits = static_cast<std::uint32_t>(event.b);
        told->inserts = static_cast<std::uint32_t>(event.b >> 32);
      }
      return;
    case EventKind::node_held:
      if (MirrorNode* held = node()) held->hold[event.group] = static_cast<std::uint32_t>(event.a);
      return;
    case EventKind::node_ranked:
      if (MirrorNode* ranked = node()) ranked->rank[event.group] = {event.a, event.b};
      return;
    case EventKind::locked:
      return lock(event);
    case EventKind::unlocked:
      return unlock(event);
    case EventKind::relaxed:
      return relax(event);
    case EventKind::cleared:
      nodes_.each([&](std::uint32_t slot) {
        for (std::size_t g = 0; g < pools_.size(); ++g) free_pages(nodes_[slot], g);
      });
      nodes_.clear();
      node_count_ = 0;
      for (MirrorPool& pool : pools_) pool.counted.evictable = pool.counted.protected_ = 0;
      for (Space& space : spaces_) space.first_child = space.last_child = 0, space.tokens = space.nodes = 0;
      first_pages_.clear();
      return;
    case EventKind::request_begun:
      return begin_request(event);
    case EventKind::request_pages:
      for (std::uint32_t place = event.extra; const std::uint64_t run : {event.a, event.b}) {
        const auto length = static_cast<std::uint32_t>(run >> 32);
        if (length == 0) continue;
        own(event.group, static_cast<Page>(run), length, ~static_cast<std::int64_t>(event.node));
        if (MirrorRequest* request = find_request(event.node))
          request->pages.push_back({place, static_cast<Page>(run), length, event.group});
        place += length;
      }
      return;
    case EventKind::request_moved:
      return move_request(event);
    case EventKind::freed:
      for (const std::uint64_t run : {event.a, event.b})
        own(event.group, static_cast<Page>(run), static_cast<std::uint32_t>(run >> 32), 0);
      return;
    case EventKind::pool_sized: {
      MirrorPool& pool = pools_[event.group];
      pool.counted.free += event.a - pool.pages;
      pool.pages = event.a;
      pool.limit = event.b;
      pool.segment_pages = event.extra;
      return;
    }
    case EventKind::text:
      return take_text(event);
    case EventKind::totals:
      pools_[event.group].told = {event.node, event.a / page_size_, event.b / page_size_, event.extra};
      return;
    case EventKind::keyframe:
    case EventKind::commit:
      return;
  }
}

void Mirror::commit(const Event& event) {
  ++commits_;
  tick_ = std::max<Tick>(tick_, event.node);
  us_ = event.b;
  drift_ = 0;
  const auto apart = [](std::uint64_t a, std::uint64_t b) { return a > b ? a - b : b - a; };
  for (const MirrorPool& pool : pools_)
    drift_ += apart(pool.counted.free, pool.told.free) + apart(pool.counted.evictable, pool.told.evictable) +
              apart(pool.counted.protected_, pool.told.protected_) + apart(pool.counted.held, pool.told.held);
  line_.commit = commits_;
  line_.operation = static_cast<Operation>(event.extra);
  log_.push_back(line_);
  if (log_.size() > kLogKept) log_.pop_front();

  if (commits_ % sample_every_ != 0) return;
  Sample sample;
  sample.commit = commits_, sample.us = us_, sample.tick = tick_;
  for (std::size_t g = 0; g < pools_.size(); ++g) sample.pools[g] = pools_[g].counted;
  sample.prompt_tokens = prompt_tokens_, sample.hit_tokens = hit_tokens_, sample.evicted_tokens = evicted_tokens_;
  sample.requests = request_count_, sample.running = running_;
  samples_.push_back(sample);
  if (samples_.size() < kSamplesKept) return;
  for (std::size_t i = 0; i < kSamplesKept / 2; ++i) samples_[i] = samples_[2 * i + 1];
  samples_.resize(kSamplesKept / 2);
  sample_every_ *= 2;
}

// ---- The tree ----

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
  MirrorNode& node = nodes_[slot];
  node.id = event.node;
  node.space = static_cast<NamespaceId>(event.extra);
  node.begin = static_cast<Units>(event.b);
  node.length = static_cast<Units>(event.b >> 32);
  node.resident = static_cast<std::uint16_t>(event.flags & ((1U << pools_.size()) - 1));
  node.added_at = commits_ + 1;
  attach(slot, find(event.a) ? slot_of_id(event.a) : 0, node.space);
  ++node_count_;
  Space& space = spaces_[static_cast<std::size_t>(node.space)];
  ++space.nodes;
  space.tokens += node.length;
  for (std::size_t g = 0; g < pools_.size(); ++g)
    if (node.has(g)) count(node, g, true);
  ++line_.added;
  line_.node = node.id;
  line_.tokens += node.length;
  remember(node.id, event.kind);
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
  if (++ghost_count_ > kGhostsKept) {
    ghosts_.clear();  // the past begins anew
    ghost_count_ = 1;
  }
  ghosts_[node.parent ? nodes_[node.parent].id : root_key(node.space)].push_back(
      {node.id, node.digest, node.begin, node.length, tick_, pools_[0].policy});
  detach(slot);
  ++line_.removed;
  line_.node = node.id;
  line_.tokens += node.length;
  remember(node.id, event.kind);
  node = {};
  --node_count_;
}

void Mirror::adopt_pages(const Event& event) {
  MirrorNode* node = const_cast<MirrorNode*>(find(event.node));
  if (!node) return;
  const std::size_t g = event.group;
  if (!node->has(g)) {
    node->resident = static_cast<std::uint16_t>(node->resident | 1U << g);
    count(*node, g, true);
    filled_ = true;
  }
  // Told anew from the start: the pages have other numbers now.
  if (std::any_of(node->pages.begin(), node->pages.end(),
                  [&](const PageRun& run) { return run.group == g && run.place == event.extra; }))
    free_pages(*node, g);
  std::uint32_t place = event.extra;
  for (const std::uint64_t run : {event.a, event.b}) {
    const auto length = static_cast<std::uint32_t>(run >> 32);
    if (length == 0) continue;
    node->pages.push_back({place, static_cast<Page>(run), length, event.group});
    own(g, static_cast<Page>(run), length, slot_of_id(event.node));
    place += length;
  }
}

void Mirror::free_pages(MirrorNode& node, std::size_t group) {
  for (const PageRun& run : node.pages)
    if (run.group == group) own(group, run.first, run.count, 0);
  std::erase_if(node.pages, [&](const PageRun& run) { return run.group == group; });
}

/// Between the sums of who may leave and who may not, in pages.
void Mirror::count(const MirrorNode& node, std::size_t group, bool in) {
  MirrorPool::Sums& sums = pools_[group].counted;
  std::uint64_t& sum = node.hold[group] ? sums.protected_ : sums.evictable;
  sum += in ? node.length / page_size_ : std::uint64_t{0} - node.length / page_size_;
}

void Mirror::hold(MirrorNode& node, std::size_t group, bool more) {
  if (node.has(group)) count(node, group, false);
  node.hold[group] += more ? 1U : ~0U;
  if (node.has(group)) count(node, group, true);
}

void Mirror::lock(const Event& event) {
  if (!find(event.node)) return;
  const std::size_t g = event.group;
  const bool whole = pools_[g].reach == kWholePath;
  for (std::uint32_t at = slot_of_id(event.node); at && (whole || nodes_[at].end() > event.a); at = nodes_[at].parent) {
    const bool first = nodes_[at].hold[g] == 0;
    hold(nodes_[at], g, true);
    if (whole && !first) break;
  }
  if (g == 0) locked_node_ = event.node, remember(event.node, event.kind);
}

void Mirror::unlock(const Event& event) {
  if (!find(event.node)) return;
  const std::size_t g = event.group;
  const bool whole = pools_[g].reach == kWholePath;
  for (std::uint32_t at = slot_of_id(event.node); at && (whole || nodes_[at].end() > event.a); at = nodes_[at].parent) {
    hold(nodes_[at], g, false);
    if (whole && nodes_[at].hold[g] > 0) break;
  }
  if (g == 0) remember(event.node, event.kind);
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

// ---- Pools ----

void Mirror::own(std::size_t group, Page first, std::uint32_t count, std::int64_t owner) {
  if (count == 0 || std::uint64_t{first} + count > pools_[group].pages + 1) return;
  MirrorPool& pool = pools_[group];
  if (pool.owner.size() < std::size_t{first} + count)
    pool.owner.resize(std::max<std::size_t>(std::size_t{first} + count, pool.owner.size() * 3 / 2));
  for (std::uint32_t i = 0; i < count; ++i) {
    std::int64_t& had = pool.owner[first + i];
    // A node that gave its page up to another owner in the same operation does not free it.
    pool.counted.free += had == 0 ? (owner == 0 ? 0 : ~std::uint64_t{0}) : (owner == 0 ? 1 : 0);
    pool.counted.held += (owner < 0 ? 1U : 0U) - std::uint64_t{had < 0 ? 1U : 0U};
    had = owner;
  }
}

// ---- Requests ----

MirrorRequest* Mirror::find_request(std::uint64_t id) {
  const auto found = request_places_.find(id);
  return found == request_places_.end() ? nullptr : &requests_[found->second];
}

const MirrorRequest* Mirror::request(std::uint64_t id) const { return const_cast<Mirror*>(this)->find_request(id); }

void Mirror::begin_request(const Event& event) {
  if (requests_.size() >= kRequestsKept) {
    std::size_t over = kRequestsKept / 2;
    std::erase_if(requests_, [&](const MirrorRequest& one) { return one.ended() && over > 0 && over--; });
    request_places_.clear();
    for (std::size_t i = 0; i < requests_.size(); ++i) request_places_[requests_[i].id] = i;
  }
  MirrorRequest* known = find_request(event.node);
  const bool again = known != nullptr;  // a keyframe tells of one that was known before
  if (!again) {
    request_places_[event.node] = requests_.size();
    known = &requests_.emplace_back();
  }
  MirrorRequest& request = *known;
  request.id = event.node;
  request.prompt = event.extra;
  request.matched = static_cast<std::uint32_t>(event.a);
  request.space = static_cast<NamespaceId>(event.a >> 32);
  request.pages.clear();
  if (!again) request.begun_at = commits_ + 1, request.begun_us = us_;
  request.ended_at = 0;
  request.last_node = locked_node_;
  request.known = request.prompt;
  request.computed = request.committed = request.matched;
  const std::uint32_t most = request.prompt > 0 ? (request.prompt - 1) / page_size_ * page_size_ : 0;
  if (request.matched >= most) request.miss = Miss::rounding;
  ++running_;
  line_.request = request.id;
  if (again) return;
  ++request_count_;
  prompt_tokens_ += request.prompt;
  hit_tokens_ += request.matched;
}

void Mirror::move_request(const Event& event) {
  MirrorRequest* found = find_request(event.node);
  if (!found) return;
  MirrorRequest& request = *found;
  const auto phase = static_cast<RequestPhase>(event.flags);
  line_.request = request.id;
  request.computed = event.extra;
  request.known = static_cast<std::uint32_t>(event.b);
  if (ends(phase)) {
    --running_;
    request.phase = phase;
    request.ended_at = commits_ + 1;
    request.ended_us = us_;
    request.pages.clear();
    return;
  }
  request.committed = static_cast<std::uint32_t>(event.a);
  if (phase == RequestPhase::retracted) ++request.retractions, request.pages.clear();
  // What is committed is the tree's.
  const std::uint32_t own_from = request.committed / page_size_;
  std::erase_if(request.pages, [&](const PageRun& run) { return run.place + run.count <= own_from; });
  for (PageRun& run : request.pages)
    if (run.place < own_from) {
      run.first += own_from - run.place;
      run.count -= own_from - run.place;
      run.place = own_from;
    }
  if (locked_node_) request.last_node = locked_node_;
  request.phase = phase;
  if (phase != RequestPhase::committed || request.miss != Miss::unknown) return;
  if (revived_.id) {
    request.miss = Miss::evicted;
    request.missed_since = revived_.left;
    request.missed_tokens = revived_.length;
    request.missed_policy = revived_.policy;
  } else if (filled_) {
    request.miss = Miss::gap;
  } else if (line_.added > 0) {
    request.miss = Miss::never_seen;
    if (const auto same = first_pages_.find(fresh_digest_); fresh_digest_ && same != first_pages_.end())
      for (const NamespaceId space : same->second)
        if (space != fresh_space_) request.miss = Miss::other_space, request.missed_space = space;
  } else {
    request.miss = Miss::none;
  }
}

std::string Mirror::why_missed(const MirrorRequest& request) const {
  switch (request.miss) {
    case Miss::unknown:
      return request.ended() ? "it ended before it inserted anything" : "not known before it inserts something";
    case Miss::none:
      return "another request brought the rest while this one computed it";
    case Miss::never_seen:
      return "nobody brought such a continuation before";
    case Miss::evicted:
      return "evicted at tick " + std::to_string(request.missed_since) + " by " + request.missed_policy + ": " +
             std::to_string(request.missed_tokens) + " tokens from depth " + std::to_string(request.matched) + " on";
    case Miss::other_space:
      return "it is there for namespace '" + spaces_[static_cast<std::size_t>(request.missed_space)].name +
             "', and no prefix is shared across two";
    case Miss::gap:
      return "full attention had more, but a window or a state it needs had left";
    case Miss::rounding:
      return "nothing: less than a page was left to find";
  }
  return {};
}

// ---- Words and the past ----

void Mirror::take_text(const Event& event) {
  constexpr std::uint32_t kLast = std::uint32_t{1} << 31;
  char bytes[16];
  std::memcpy(bytes, &event.a, sizeof(event.a));
  std::memcpy(bytes + sizeof(event.a), &event.b, sizeof(event.b));
  if ((event.extra & ~kLast) == 0) text_.clear();
  text_.append(bytes, std::min<std::size_t>(event.flags, sizeof(bytes)));
  if (!(event.extra & kLast)) return;
  const std::size_t index = event.node >> 8;
  if (index >= kMostTexts * 64) return;
  switch (static_cast<TextKind>(event.node & 0xFF)) {
    case TextKind::space:
      if (spaces_.size() <= index) spaces_.resize(index + 1);
      spaces_[index].name = text_;
      return;
    case TextKind::group:
      if (index < pools_.size()) pools_[index].name = text_;
      return;
    case TextKind::policy:
      if (index < pools_.size()) pools_[index].policy = text_;
      return;
    case TextKind::config:
      config_ = text_;
      return;
    case TextKind::plugin:
      if (plugins_.size() < kMostTexts) plugins_.push_back(text_);
      return;
    case TextKind::refusal:
      if (refusals_.size() < kMostTexts) refusals_.push_back(text_);
      return;
  }
}

void Mirror::remember(std::uint64_t node, EventKind kind) {
  moments_.push_back({node, commits_ + 1, kind});
  if (moments_.size() > kMomentsKept) moments_.pop_front();
}

std::vector<NodeMoment> Mirror::history(std::uint64_t node) const {
  std::vector<NodeMoment> mine;
  for (const NodeMoment& moment : moments_)
    if (moment.node == node) mine.push_back(moment);
  return mine;
}

Mirror::Moment Mirror::moment() const {
  Moment moment;
  each_node([&](const MirrorNode& node) { moment.emplace(node.id, node.length); });
  return moment;
}

Difference Mirror::difference(const Moment& before, const Moment& after) {
  Difference difference;
  for (const auto& [id, length] : after)
    if (!before.contains(id)) difference.appeared.push_back(id), difference.appeared_tokens += length;
  for (const auto& [id, length] : before)
    if (!after.contains(id)) difference.left.push_back(id), difference.left_tokens += length;
  std::sort(difference.appeared.begin(), difference.appeared.end());
  std::sort(difference.left.begin(), difference.left.end());
  return difference;
}

}  // namespace canopy::inspector
