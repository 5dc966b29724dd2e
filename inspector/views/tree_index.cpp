#include "tree_index.h"

#include <algorithm>

namespace canopy::inspector {

NodeState TreeIndex::Mix::most() const {
  NodeState most = NodeState::protected_;
  for (const NodeState state : {NodeState::evictable, NodeState::tombstone, NodeState::without})
    if (of(state) > of(most)) most = state;
  return most;
}

TreeIndex::Mix& TreeIndex::Mix::operator-=(const Mix& other) {
  for (std::size_t i = 0; i < own.size(); ++i) own[i] -= other.own[i];
  nodes -= other.nodes, tokens -= other.tokens;
  return *this;
}

bool TreeIndex::update(const Mirror& mirror, std::size_t group, const std::unordered_set<std::uint64_t>& folded) {
  if (of_ == &mirror && commits_ == mirror.commits() && in_step_ == mirror.in_step() && group_ == group &&
      folded_ == folded)
    return false;
  of_ = &mirror, commits_ = mirror.commits(), in_step_ = mirror.in_step(), group_ = group, folded_ = folded;
  order(mirror, group, folded);
  sum(mirror, group);
  if (!folded.empty()) fold(mirror, folded);
  place(mirror);
  weigh();
  ++version_;
  return true;
}

/// Orders the nodes breadth first: level by level, children in the order of their parents.
void TreeIndex::order(const Mirror& mirror, std::size_t group, const std::unordered_set<std::uint64_t>& folded) {
  const bool whole_path = mirror.pool(group).reach == kWholePath;
  nodes_.clear(), parents_.clear(), level_begin_.assign(1, 0);
  states_.assign(mirror.slots(), NodeState::without);
  nodes_.reserve(mirror.node_count() + mirror.spaces().size());
  parents_.reserve(nodes_.capacity());
  for (std::uint32_t s = 0; s < mirror.spaces().size(); ++s)
    if (mirror.spaces()[s].first_child != 0) {
      nodes_.push_back({});
      nodes_.back().space = s;
      parents_.push_back(kNowhere);
    }
  for (std::size_t at = 0; at < nodes_.size();) {
    level_begin_.push_back(nodes_.size());
    for (const std::size_t end = nodes_.size(); at < end; ++at) {
      const Node parent = nodes_[at];
      std::uint32_t child =
          parent.slot == 0 ? mirror.spaces()[parent.space].first_child : mirror.node(parent.last).first_child;
      for (; child != 0; child = mirror.node(child).next) {
        // Reads everything needed of a node at once, because each access to a distant node is slow.
        const MirrorNode* one = &mirror.node(child);
        const NodeState state = states_[child] = mirror.state(*one, group);
        Node node{child, child, 1, parent.space, 1, 0, 0, one->length, one->length, state, false};
        while (one->children == 1 && (folded.empty() || !folded.contains(one->id))) {
          const std::uint32_t only = one->first_child;
          const MirrorNode& next = mirror.node(only);
          const std::uint32_t hold = one->hold[group], below = next.hold[group];
          // In a whole-path group: one locked child and nothing else, so no lock ends here.
          if (mirror.state(next, group) != state || hold != (whole_path ? std::uint32_t{below != 0} : below)) break;
          states_[only] = state;
          node.last = only;
          node.own += next.length, node.tokens += next.length;
          ++node.chain, ++node.nodes;
          one = &next;
        }
        node.locks = one->hold[group];
        nodes_.push_back(node);
        parents_.push_back(static_cast<std::uint32_t>(at));
      }
    }
  }
}

/// Computes sums from the last level up, so that children are done before their parent.
void TreeIndex::sum(const Mirror& mirror, std::size_t group) {
  const bool whole_path = mirror.pool(group).reach == kWholePath;
  std::vector<std::uint32_t> locked_children(nodes_.size()), locks_below(nodes_.size());
  for (std::size_t at = nodes_.size(); at-- > 0;) {
    Node& node = nodes_[at];
    const std::uint32_t hold = node.locks;
    // For whole paths, the mirror counts a node's own locks and its held children. A node is held by the locks on it
    // and on everything below it.
    if (whole_path && node.slot != 0) node.locks = locks_below[at] + hold - std::min(hold, locked_children[at]);
    const std::uint32_t parent = parents_[at];
    if (parent == kNowhere) continue;
    nodes_[parent].tokens += node.tokens;
    nodes_[parent].nodes += node.nodes;
    locks_below[parent] += node.locks;
    locked_children[parent] += hold != 0;
  }
}

/// Removes everything below folded nodes. The sums are already computed.
void TreeIndex::fold(const Mirror& mirror, const std::unordered_set<std::uint64_t>& folded) {
  constexpr std::uint32_t kHidden = kNowhere - 1;
  std::vector<std::uint32_t> moved(nodes_.size(), kHidden);
  std::vector<std::size_t> begins{0};
  std::size_t kept = 0;
  for (std::size_t level = 0; level + 1 < level_begin_.size(); ++level) {
    for (std::size_t at = level_begin_[level]; at < level_begin_[level + 1]; ++at) {
      std::uint32_t parent = parents_[at];
      if (parent != kNowhere) {
        parent = moved[parent];
        if (parent == kHidden || nodes_[parent].folded) continue;
      }
      Node node = nodes_[at];
      node.folded =
          node.slot != 0 && mirror.node(node.last).children != 0 && folded.contains(mirror.node(node.last).id);
      moved[at] = static_cast<std::uint32_t>(kept);
      nodes_[kept] = node;
      parents_[kept++] = parent;
    }
    if (kept == begins.back()) break;
    begins.push_back(kept);
  }
  nodes_.resize(kept), parents_.resize(kept);
  level_begin_ = std::move(begins);
}

void TreeIndex::place(const Mirror& mirror) {
  std::vector<std::uint64_t> filled(nodes_.size());  // tokens of a node's children that already have a place
  places_.assign(states_.size(), kNowhere);
  before_.clear();
  before_.reserve(nodes_.size() / kStride + 1);
  Mix sums;
  tokens_ = 0;
  for (std::size_t at = 0; at < nodes_.size(); ++at) {
    Node& node = nodes_[at];
    if (parents_[at] == kNowhere) {
      node.start = tokens_;
      tokens_ += node.tokens;
    } else {
      node.start = nodes_[parents_[at]].start + filled[parents_[at]];
      filled[parents_[at]] += node.tokens;
    }
    if (at % kStride == 0) before_.push_back(sums);
    add_own(sums, at);
    if (node.slot != 0) {
      places_[node.slot] = places_[node.last] = static_cast<std::uint32_t>(at);
      for (std::uint32_t slot = node.last; slot != node.slot; slot = mirror.node(slot).parent)
        places_[slot] = static_cast<std::uint32_t>(at);
    }
  }
  if (nodes_.size() % kStride == 0) before_.push_back(sums);
}

void TreeIndex::add_own(Mix& to, std::size_t place) const {
  const Node& node = nodes_[place];
  to.nodes += node.nodes;
  to.tokens += node.tokens;
  if (node.slot != 0) to.own[static_cast<std::size_t>(node.state)] += node.own;
}

TreeIndex::Mix TreeIndex::before(std::size_t place) const {
  Mix mix = before_[place / kStride];
  for (std::size_t at = place / kStride * kStride; at < place; ++at) add_own(mix, at);
  return mix;
}

void TreeIndex::weigh() {
  leaves_.assign(nodes_.size(), 0);
  weights_.assign(nodes_.size() / kBlock + 1, 0);
  for (std::size_t at = nodes_.size(); at-- > 0;) {
    leaves_[at] = std::max<std::uint32_t>(leaves_[at], 1);
    if (parents_[at] != kNowhere) leaves_[parents_[at]] += leaves_[at];
    weights_[at / kBlock] = std::max(weights_[at / kBlock], nodes_[at].tokens);
  }
}

TreeIndex::Range TreeIndex::roots() const {
  return levels() == 0 ? Range{} : Range{0, static_cast<std::uint32_t>(end(0))};
}

TreeIndex::Range TreeIndex::children(std::size_t place) const {
  const std::size_t level = level_of(place) + 1;
  if (level >= levels()) return {};
  // On a level, children are in the order of their parents.
  const auto all_begin = parents_.begin() + static_cast<std::ptrdiff_t>(begin(level)),
             all_end = parents_.begin() + static_cast<std::ptrdiff_t>(end(level));
  const auto [from, to] = std::equal_range(all_begin, all_end, static_cast<std::uint32_t>(place));
  return {static_cast<std::uint32_t>(from - parents_.begin()), static_cast<std::uint32_t>(to - from)};
}

std::vector<std::uint32_t> TreeIndex::heaviest(Range range, std::size_t most) const {
  std::vector<std::uint32_t> found;
  if (most == 0) return found;
  const std::size_t range_end = std::size_t{range.first} + range.count;
  const auto heavier = [&](std::uint32_t a, std::uint32_t b) {
    return nodes_[a].tokens != nodes_[b].tokens ? nodes_[a].tokens > nodes_[b].tokens : a < b;
  };
  // Reads the heaviest blocks first, until no block can contain a place heavier than those already found.
  std::vector<std::uint32_t> blocks;
  for (std::size_t block = range.first / kBlock; block * kBlock < range_end; ++block)
    blocks.push_back(static_cast<std::uint32_t>(block));
  std::sort(blocks.begin(), blocks.end(), [&](std::uint32_t a, std::uint32_t b) {
    return weights_[a] != weights_[b] ? weights_[a] > weights_[b] : a < b;
  });
  for (const std::uint32_t block : blocks) {
    if (found.size() == most && weights_[block] < nodes_[found.back()].tokens) break;
    if (found.size() == most && weights_[block] == nodes_[found.back()].tokens && block * kBlock > found.back()) break;
    const std::size_t end = std::min((block + 1) * kBlock, range_end);
    for (std::size_t at = std::max<std::size_t>(block * kBlock, range.first); at < end; ++at)
      found.push_back(static_cast<std::uint32_t>(at));
    const std::size_t kept = std::min(found.size(), most);
    std::partial_sort(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(kept), found.end(), heavier);
    found.resize(kept);
  }
  std::sort(found.begin(), found.end());
  return found;
}

TreeIndex::Mix TreeIndex::mix(std::size_t first, std::size_t count) const {
  Mix mix = before(first + count);
  return mix -= before(first);
}

std::size_t TreeIndex::level_of(std::size_t place) const {
  return static_cast<std::size_t>(std::upper_bound(level_begin_.begin(), level_begin_.end(), place) -
                                  level_begin_.begin()) -
         1;
}

}  // namespace canopy::inspector
