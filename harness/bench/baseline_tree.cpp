/// The baseline's nodes: how they are found, split, locked and removed.
#include <canopy/prefix_print.h>

#include <algorithm>
#include <string_view>

#include "baseline_index.h"

namespace canopy::bench {

std::size_t BaselineIndex::HashOfWords::operator()(const Words& words) const {
  return std::hash<std::string_view>()({reinterpret_cast<const char*>(words.data()), words.size() * sizeof(words[0])});
}

Units BaselineIndex::whole_units(std::size_t words) const {
  return static_cast<Units>((words > overlap_ ? words - overlap_ : 0) / page_ * page_);
}

/// Whole pages of units that a node and what is left of a key share.
Units BaselineIndex::common_units(const Node& node, const Words& words) const {
  const auto differs = std::mismatch(node.words.begin(), node.words.end(), words.begin(), words.end()).first;
  return std::min(whole_units(static_cast<std::size_t>(differs - node.words.begin())), node.length);
}

BaselineIndex::Node* BaselineIndex::root_of(NamespaceId space) {
  const auto at = static_cast<std::size_t>(space);
  if (at >= spaces_.size()) spaces_.resize(at + 1);
  if (!spaces_[at].root) spaces_[at].root = std::make_unique<Node>();
  return spaces_[at].root.get();
}

BaselineIndex::Node* BaselineIndex::node_of(NodeId id) const {
  const std::uint32_t slot = slot_of(id);
  Node* node = slot < nodes_.size() ? nodes_[slot].get() : nullptr;
  return node && node->parent && id_of(*node) == id ? node : nullptr;
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

/// The lower half keeps the node's identity; words and pages of both are copied.
BaselineIndex::Node* BaselineIndex::split(Node* lower, Units at) {
  Node* upper = make();
  upper->space = lower->space;
  upper->parent = lower->parent;
  upper->begin = lower->begin;
  upper->length = at;
  upper->words.assign(lower->words.begin(), lower->words.begin() + at + overlap_);
  upper->pages.assign(lower->pages.begin(), lower->pages.begin() + at / page_);
  upper->locks = lower->locks;
  upper->hits = lower->hits;
  upper->inserts = lower->inserts;
  upper->priority = lower->priority;
  upper->created = lower->created;
  upper->last_access = lower->last_access;
  upper->spared = lower->spared;
  upper->tag = lower->tag;
  upper->parent->children[first_page(upper->words)] = upper;
  lower->parent = upper;
  lower->begin += at;
  lower->length -= at;
  lower->words = Words(lower->words.begin() + at, lower->words.end());
  lower->pages = std::vector<Page>(lower->pages.begin() + at / page_, lower->pages.end());
  upper->children.emplace(first_page(lower->words), lower);
  return upper;
}

Eviction BaselineIndex::eviction_of(const Node& node, Cause cause) {
  prints_.clear();
  if (group_.eviction->reads_prints() != Prints::all) return {cause, {}};
  Words path;
  for (const Node* at = &node; at->parent; at = at->parent)
    path.insert(path.begin(), at->words.begin(), at->words.begin() + at->length);
  std::uint64_t print = first_print(node.space);
  for (std::size_t end = kPrintStride; end <= path.size(); end += kPrintStride)
    prints_.push_back(print = next_print(print, path.data() + end - kPrintStride));
  return {cause, prints_};
}

void BaselineIndex::remove(Node* node, Cause cause) {
  group_.eviction->evicted(facts(*node), eviction_of(*node, cause));
  out_.insert(out_.end(), node->pages.begin(), node->pages.end());
  for (Sizes* sizes : {&sizes_, &spaces_[static_cast<std::size_t>(node->space)].sizes})
    sizes->evictable -= node->length;
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
    if (node->locks++ == 0)
      for (Sizes* sizes : {&sizes_, &spaces_[static_cast<std::size_t>(node->space)].sizes})
        sizes->evictable -= node->length, sizes->protected_ += node->length;
    note_leaf(node);
  }
}

void BaselineIndex::unlock_path(Node* node) {
  for (; node->parent; node = node->parent) {
    if (--node->locks == 0)
      for (Sizes* sizes : {&sizes_, &spaces_[static_cast<std::size_t>(node->space)].sizes})
        sizes->protected_ -= node->length, sizes->evictable += node->length;
    note_leaf(node);
  }
}

void BaselineIndex::note_leaf(Node* node) {
  if (node->locks == 0 && node->children.empty()) leaves_.insert(node);
  else leaves_.erase(node);
}

PolicyClock BaselineIndex::clock() const {
  return {allocated_, sizes_.evictable + sizes_.protected_, group_.capacity, now_};
}

NodeFacts BaselineIndex::facts(const Node& node) const {
  NodeFacts facts;
  facts.id = id_of(node);
  facts.space = node.space;
  facts.begin = node.begin;
  facts.length = node.length;
  facts.hits = node.hits;
  facts.inserts = node.inserts;
  facts.children = static_cast<std::uint32_t>(node.children.size());
  facts.priority = node.priority;
  facts.created = node.created;
  facts.last_access = node.last_access;
  facts.spared = node.spared;
  facts.clock = clock();
  facts.tag = const_cast<std::uint64_t*>(&node.tag);  // the policy's own word: it may change it in a const index
  return facts;
}

}  // namespace canopy::bench
