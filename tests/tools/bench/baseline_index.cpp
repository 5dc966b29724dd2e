#include "baseline_index.h"

#include <algorithm>
#include <stdexcept>
#include <string_view>

namespace canopy::bench {

BaselineIndex::BaselineIndex(const Context& context) : page_(context.page_size), overlap_(context.overlap) {
  if (context.groups.size() != 1 || context.groups[0].reach != kWholePath)
    throw std::invalid_argument("the original's algorithm has one group, and it needs the whole path");
  group_ = context.groups[0];
  nodes_.push_back(nullptr);
}

Lock BaselineIndex::match(const Key& key, const RequestFacts&) {
  ++now_;
  Node* end = root_of(key.space);
  Words rest(key.words.begin(), key.words.end());
  while (whole_units(rest.size()) > 0) {
    const auto found = end->children.find(first_page(rest));
    if (found == end->children.end()) break;
    end = found->second;
    const Units common = common_units(*end, rest);
    const bool whole = common == end->length;
    if (!whole) end = split(end, common);
    end->last_access = now_;
    if (!whole) break;
    rest = Words(rest.begin() + common, rest.end());
  }
  if (!end->parent) return {};
  for (Node* at = end; at->parent; at = at->parent) at->last_access = now_, ++at->hits;
  lock_path(end);
  return lock_of(*end);
}

GroupPages BaselineIndex::pages(const Lock& lock, Units from) {
  out_.clear();
  if (from >= lock.length) return {};
  const Node* at = node_of(lock.node);
  out_.resize((lock.length - from) / page_);
  for (; at->parent && at->begin + at->length > from; at = at->parent) {
    const std::size_t skip = (std::max(at->begin, from) - at->begin) / page_;
    std::copy(at->pages.begin() + static_cast<std::ptrdiff_t>(skip), at->pages.end(),
              out_.begin() + static_cast<std::ptrdiff_t>((std::max(at->begin, from) - from) / page_));
  }
  return {std::span<const Page>(out_)};
}

Inserted BaselineIndex::insert(const Lock& lock, const Key& key, const GroupPages& pages, InsertFacts) {
  ++now_;
  out_.clear();
  const Units limit = whole_units(key.words.size());
  Node* held = lock.id == LockId::none ? nullptr : node_of(lock.node);
  const auto use = [&](Node* node) {
    node->last_access = now_;
    ++node->inserts;
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
    leaf->parent = at;
    leaf->begin = depth;
    leaf->length = limit - depth;
    leaf->words = rest;
    leaf->pages.assign(brought(depth), brought(limit));
    leaf->created = now_;
    use(leaf);
    at->children.emplace(first_page(rest), leaf);
    sizes_.evictable += leaf->length;
    allocated_ += leaf->length;
    if (at->parent) note_leaf(at);
    note_leaf(leaf);
    at = leaf;
  }
  if (!at->parent) return {{}, had, {std::span<const Page>(out_)}, {}};
  lock_path(at);
  if (held) unlock_path(held);
  return {lock_of(*at), had, {std::span<const Page>(out_)}, {}};
}

GroupPages BaselineIndex::release(const Lock& lock, const RequestFacts*) {
  ++now_;
  if (lock.id != LockId::none) unlock_path(node_of(lock.node));
  return {};
}

GroupPages BaselineIndex::evict(std::size_t, std::size_t pages, Cause, LeavingVisitor*) {
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
    Node* parent = victim->parent;
    remove(victim);
    if (parent->parent && leaves_.contains(parent)) push(parent);
  }
  return {std::span<const Page>(out_)};
}

/// Returns the nodes, parents before children, siblings in the order they came, without the root.
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
  for (const auto& root : roots_) {
    if (!root) continue;
    for (const Node* node : preorder(root.get())) {
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

std::size_t BaselineIndex::HashOfWords::operator()(const Words& words) const {
  return std::hash<std::string_view>()({reinterpret_cast<const char*>(words.data()), words.size() * sizeof(words[0])});
}

Units BaselineIndex::whole_units(std::size_t words) const {
  return static_cast<Units>((words > overlap_ ? words - overlap_ : 0) / page_ * page_);
}

/// Returns the units, in whole pages, that a node and the rest of a key share.
Units BaselineIndex::common_units(const Node& node, const Words& words) const {
  const auto differs = std::mismatch(node.words.begin(), node.words.end(), words.begin(), words.end()).first;
  return std::min(whole_units(static_cast<std::size_t>(differs - node.words.begin())), node.length);
}

BaselineIndex::Node* BaselineIndex::root_of(NamespaceId space) {
  const auto at = static_cast<std::size_t>(space);
  if (at >= roots_.size()) roots_.resize(at + 1);
  if (!roots_[at]) roots_[at] = std::make_unique<Node>();
  return roots_[at].get();
}

BaselineIndex::Node* BaselineIndex::make() {
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(nodes_.size()));
    nodes_.push_back(std::make_unique<Node>());
    nodes_.back()->slot = free_.back();
  }
  Node* node = nodes_[free_.back()].get();
  free_.pop_back();
  ++node_count_;
  return node;
}

/// Splits a node. The lower half keeps the node's identity; words and pages of both halves are copied.
BaselineIndex::Node* BaselineIndex::split(Node* lower, Units at) {
  Node* upper = make();
  upper->parent = lower->parent;
  upper->begin = lower->begin;
  upper->length = at;
  upper->words.assign(lower->words.begin(), lower->words.begin() + at + overlap_);
  upper->pages.assign(lower->pages.begin(), lower->pages.begin() + at / page_);
  upper->locks = lower->locks;
  upper->hits = lower->hits;
  upper->inserts = lower->inserts;
  upper->created = lower->created;
  upper->last_access = lower->last_access;
  upper->parent->children[first_page(upper->words)] = upper;
  lower->parent = upper;
  lower->begin += at;
  lower->length -= at;
  lower->words = Words(lower->words.begin() + at, lower->words.end());
  lower->pages = std::vector<Page>(lower->pages.begin() + at / page_, lower->pages.end());
  upper->children.emplace(first_page(lower->words), lower);
  return upper;
}

void BaselineIndex::remove(Node* node) {
  out_.insert(out_.end(), node->pages.begin(), node->pages.end());
  sizes_.evictable -= node->length;
  Node* parent = node->parent;
  parent->children.erase(first_page(node->words));
  leaves_.erase(node);
  const std::uint32_t slot = node->slot, generation = node->generation + 1;
  *node = {};
  node->slot = slot;
  node->generation = generation;
  free_.push_back(slot);
  --node_count_;
  if (parent->parent) note_leaf(parent);
}

void BaselineIndex::lock_path(Node* node) {
  for (; node->parent; node = node->parent) {
    if (node->locks++ == 0) sizes_.evictable -= node->length, sizes_.protected_ += node->length;
    note_leaf(node);
  }
}

void BaselineIndex::unlock_path(Node* node) {
  for (; node->parent; node = node->parent) {
    if (--node->locks == 0) sizes_.protected_ -= node->length, sizes_.evictable += node->length;
    note_leaf(node);
  }
}

void BaselineIndex::note_leaf(Node* node) {
  if (node->locks == 0 && node->children.empty()) leaves_.insert(node);
  else leaves_.erase(node);
}

NodeFacts BaselineIndex::facts(const Node& node) const {
  NodeFacts facts;
  facts.id = id_of(node);
  facts.begin = node.begin;
  facts.length = node.length;
  facts.hits = node.hits;
  facts.inserts = node.inserts;
  facts.children = static_cast<std::uint32_t>(node.children.size());
  facts.created = node.created;
  facts.last_access = node.last_access;
  facts.clock = {allocated_, sizes_.evictable + sizes_.protected_, group_.capacity, now_};
  facts.parent_tag = node.parent ? &node.parent->tag : nullptr;
  facts.tag = const_cast<std::uint64_t*>(&node.tag);  // the policy's own word, which it may change in a const index
  return facts;
}

}  // namespace canopy::bench
