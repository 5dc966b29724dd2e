#include "baseline_index.h"

#include <algorithm>
#include <stdexcept>

namespace canopy::bench {

BaselineIndex::BaselineIndex(const Context& context) : page_(context.page_size), overlap_(context.overlap) {
  if (context.groups.size() != 1 || context.groups[0].reach != kWholePath)
    throw std::invalid_argument("the original's algorithm knows one group, and it needs the whole path");
  group_ = context.groups[0];
  nodes_.push_back(nullptr);
}

Probe BaselineIndex::peek(const Key& key) const {
  Probe probe;
  const auto space = static_cast<std::size_t>(key.space);
  if (space >= spaces_.size() || !spaces_[space].root) return probe;
  const Node* at = spaces_[space].root.get();
  Words rest(key.words.begin(), key.words.end());
  while (whole_units(rest.size()) > 0) {
    const auto found = at->children.find(first_page(rest));
    if (found == at->children.end()) break;
    const Units common = common_units(*found->second, rest);
    probe.length += common;
    if (found->second->locks == 0) probe.evictable[0] += common;
    at = found->second;
    if (common < at->length) break;
    rest = Words(rest.begin() + common, rest.end());
  }
  probe.full_length = probe.length;
  return probe;
}

/// Walks down what the key shares with the tree, makes it recent, and splits the node in which it ends.
BaselineIndex::Node* BaselineIndex::walk(const Key& key) {
  Node* at = root_of(key.space);
  Words rest(key.words.begin(), key.words.end());
  while (whole_units(rest.size()) > 0) {
    const auto found = at->children.find(first_page(rest));
    if (found == at->children.end()) break;
    at = found->second;
    const Units common = common_units(*at, rest);
    const bool whole = common == at->length;
    if (!whole) at = split(at, common);
    at->last_access = now_;
    if (!whole) break;
    rest = Words(rest.begin() + common, rest.end());
  }
  return at;
}

void BaselineIndex::tell_arrived(const RequestFacts& request) {
  RequestFacts told = request;
  told.clock = clock();
  group_.eviction->arrived(told);
}

/// Counts a use of the path to a node, and locks it.
Lock BaselineIndex::use(Node* end) {
  if (!end->parent) return {};
  for (Node* at = end; at->parent; at = at->parent) at->last_access = now_, ++at->hits;
  lock_path(end);
  return {id_of(*end), end->begin + end->length, {}, end->begin + end->length};
}

Lock BaselineIndex::match(const Key& key, const RequestFacts& request) {
  ++now_;
  tell_arrived(request);
  return use(walk(key));
}

Found BaselineIndex::find(const Key& key) {
  ++now_;
  const Node* end = walk(key);
  if (!end->parent) return {};
  return {id_of(*end), end->begin + end->length, end->begin + end->length};
}

Lock BaselineIndex::hold(NodeId node, const RequestFacts* arrives) {
  Node* const end = node_of(node);
  if (!end || !end->parent) return {};
  ++now_;
  if (arrives) tell_arrived(*arrives);
  return use(end);
}

GroupPages BaselineIndex::pages(const Lock& lock, Units from) {
  out_.clear();
  const Node* at = node_of(lock.node);
  if (!at || from >= lock.length) return out();
  out_.resize((lock.length - from) / page_);
  for (; at->parent && at->begin + at->length > from; at = at->parent) {
    const std::size_t skip = (std::max(at->begin, from) - at->begin) / page_;
    std::copy(at->pages.begin() + static_cast<std::ptrdiff_t>(skip), at->pages.end(),
              out_.begin() + static_cast<std::ptrdiff_t>((std::max(at->begin, from) - from) / page_));
  }
  return out();
}

GroupPages BaselineIndex::pages(NodeId node, Units from) {
  const Node* const end = node_of(node);
  return pages(Lock{node, end ? end->begin + end->length : 0}, from);
}

Inserted BaselineIndex::insert(const Lock& lock, const Key& key, const GroupPages& pages, InsertFacts facts) {
  ++now_;
  out_.clear();
  const Units limit = whole_units(key.words.size());
  Node* held = lock.node == NodeId::none ? nullptr : node_of(lock.node);
  const bool stale = lock.node != NodeId::none && (!held || held->locks == 0);
  if (stale || limit < lock.length) {
    refused_ += stale;
    return {lock, lock.length, {}, {}};
  }
  const auto use = [&](Node* node) {
    node->last_access = now_;
    node->priority = std::max(node->priority, facts.priority);
    node->inserts += !facts.chunked;
  };
  const auto brought = [&](Units depth) {
    return pages[0].begin() + static_cast<std::ptrdiff_t>((depth - lock.length) / page_);
  };
  Node* at = root_of(key.space);
  Words rest(key.words.begin(), key.words.begin() + (limit ? limit + overlap_ : 0));
  Units depth = 0;
  while (whole_units(rest.size()) > 0) {
    const auto found = at->children.find(first_page(rest));
    if (found == at->children.end()) break;
    at = found->second;
    const Units common = common_units(*at, rest);
    const bool whole = common == at->length;
    if (!whole) at = split(at, common);
    use(at);
    if (depth + common > lock.length)
      out_.insert(out_.end(), brought(std::max(depth, lock.length)), brought(depth + common));
    depth += common;
    rest = Words(rest.begin() + common, rest.end());
    if (!whole) break;
  }
  const Units had = depth;
  if (depth < limit) {
    Node* leaf = make();
    leaf->space = key.space;
    leaf->parent = at;
    leaf->begin = depth;
    leaf->length = limit - depth;
    leaf->words = rest;
    leaf->pages.assign(brought(depth), brought(limit));
    leaf->created = now_;
    leaf->priority = facts.priority;
    use(leaf);
    at->children.emplace(first_page(rest), leaf);
    for (Sizes* sizes : {&sizes_, &spaces_[static_cast<std::size_t>(key.space)].sizes})
      sizes->evictable += leaf->length;
    allocated_ += leaf->length;
    if (at->parent) note_leaf(at);
    note_leaf(leaf);
    at = leaf;
  }
  if (!at->parent) return {{}, had, out(), {}};
  lock_path(at);
  if (held) unlock_path(held);
  return {{id_of(*at), limit, {}, limit}, had, out(), {}};
}

class BaselineIndex::PathOf final : public Path {
 public:
  PathOf(BaselineIndex& index, Node* end) : index_(index), at_(end) {}
  bool next(NodeFacts& facts) override {
    if (!at_ || !at_->parent) return false;
    facts = index_.facts(*at_);
    at_ = at_->parent;
    return true;
  }

 private:
  BaselineIndex& index_;
  Node* at_;
};

GroupPages BaselineIndex::release(const Lock& lock, const RequestFacts* ended) {
  ++now_;
  Node* node = node_of(lock.node);
  if (lock.node != NodeId::none && (!node || node->locks == 0)) {
    ++refused_;
    return {};
  }
  if (ended) {
    RequestFacts told = *ended;
    told.clock = clock();
    PathOf path(*this, node);
    group_.eviction->ended(told, path);
  }
  if (node) unlock_path(node);
  return {};
}

GroupPages BaselineIndex::evict(std::size_t, std::size_t pages, Cause cause, LeavingVisitor* told) {
  ++now_;
  out_.clear();
  struct Entry {
    Rank rank;
    Node* node;
    bool operator<(const Entry& other) const {  // the standard's heaps have the largest in front
      return rank != other.rank ? rank > other.rank : node->slot > other.node->slot;
    }
  };
  std::vector<Entry> heap;
  heap.reserve(leaves_.size());
  for (Node* leaf : leaves_) heap.push_back({group_.eviction->rank(facts(*leaf)), leaf});
  std::make_heap(heap.begin(), heap.end());
  const auto push = [&](Node* node) {
    heap.push_back({group_.eviction->rank(facts(*node)), node});
    std::push_heap(heap.begin(), heap.end());
  };
  while (out_.size() < pages && !heap.empty()) {
    std::pop_heap(heap.begin(), heap.end());
    Node* victim = heap.back().node;
    heap.pop_back();
    if (victim->spared != now_ && group_.eviction->spare(facts(*victim))) {
      victim->spared = now_;
      push(victim);
      continue;
    }
    Node* parent = victim->parent;
    if (told) tell_leaving(*victim, *told);
    remove(victim, cause);
    if (parent->parent && leaves_.contains(parent)) push(parent);
  }
  return out();
}

void BaselineIndex::tell_leaving(const Node& node, LeavingVisitor& told) const {
  Words words(node.begin + node.words.size());
  std::vector<Page> pages((node.begin + node.length) / page_);
  for (const Node* at = &node; at->parent; at = at->parent) {
    std::copy(at->words.begin(), at->words.end(), words.begin() + at->begin);
    std::copy(at->pages.begin(), at->pages.end(), pages.begin() + at->begin / page_);
  }
  told.leaving({facts(node), words, {std::span<const Page>(pages)}});
}

GroupPages BaselineIndex::flush(NamespaceId space) {
  ++now_;
  out_.clear();
  const auto at = static_cast<std::size_t>(space);
  if (at >= spaces_.size() || !spaces_[at].root) return out();
  const std::vector<const Node*> all = preorder(spaces_[at].root.get());
  for (std::size_t i = all.size(); i-- > 0;) {
    Node* node = nodes_[all[i]->slot].get();
    if (node->locks == 0 && node->children.empty()) remove(node, Cause::flush);
  }
  return out();
}

GroupPages BaselineIndex::clear() {
  out_.clear();
  for (const auto& node : nodes_)
    if (node && node->parent) {
      out_.insert(out_.end(), node->pages.begin(), node->pages.end());
      const std::uint32_t slot = node->slot, generation = node->generation + 1;
      *node = {};
      node->slot = slot;
      node->generation = generation;
      free_.push_back(slot);
    }
  spaces_.clear();
  leaves_.clear();
  sizes_ = {};
  node_count_ = 0;
  group_.eviction->cleared();
  return out();
}

void BaselineIndex::use_policy(std::size_t, EvictionStrategy* policy) {
  group_.eviction = policy;
  for (const auto& node : nodes_)
    if (node) node->tag = 0, node->spared = 0;
}

Sizes BaselineIndex::sizes(std::size_t, NamespaceId space) const {
  const auto at = static_cast<std::size_t>(space);
  return at < spaces_.size() ? spaces_[at].sizes : Sizes{};
}

void BaselineIndex::waiting(std::size_t, QueueVisitor& visitor) const {
  for (const Node* leaf : leaves_) {
    const NodeFacts told = facts(*leaf);
    visitor.waiting(told, group_.eviction->rank(told));
  }
}

void BaselineIndex::remap(std::size_t, std::span<const Page> from, std::span<const Page> to) {
  std::unordered_map<Page, Page> names;
  for (std::size_t i = 0; i < from.size(); ++i) names.emplace(from[i], to[i]);
  for (const auto& node : nodes_)
    for (std::size_t i = 0; node && i < node->pages.size(); ++i)
      if (const auto found = names.find(node->pages[i]); found != names.end()) node->pages[i] = found->second;
}

/// Parents before children, siblings in the order they came, without the root.
std::vector<const BaselineIndex::Node*> BaselineIndex::preorder(const Node* root) const {
  std::vector<const Node*> all, open;
  const auto descend = [&](const Node* node) {
    const std::size_t first = open.size();
    for (const auto& [page, child] : node->children) open.push_back(child);
    std::sort(open.begin() + static_cast<std::ptrdiff_t>(first), open.end(),
              [](const Node* a, const Node* b) { return a->created > b->created; });
  };
  descend(root);
  while (!open.empty()) {
    const Node* node = open.back();
    open.pop_back();
    all.push_back(node);
    descend(node);
  }
  return all;
}

void BaselineIndex::visit(NodeVisitor& visitor) const {
  for (const Space& space : spaces_) {
    if (!space.root) continue;
    for (const Node* node : preorder(space.root.get())) {
      NodeView view;
      view.facts = facts(*node);
      view.parent = node->parent->parent ? id_of(*node->parent) : NodeId::none;
      view.words = node->words;
      view.pages[0] = node->pages;
      view.locks[0] = node->locks;
      visitor.node(view);
    }
  }
}

}  // namespace canopy::bench
