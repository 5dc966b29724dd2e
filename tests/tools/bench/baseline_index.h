#pragma once

#include <canopy/plugin.h>

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace canopy::bench {

/// The algorithm of the original radix caches (SGLang's RadixCache of 2025 and its followers), written plainly: for
/// comparison with an index, not for use. Each node has a map of its children, keyed by their first page. The rest of
/// the key is copied at each level. A split copies words and pages. A lock counts up to the root, an insert walks and
/// stamps from the root, and an eviction builds a heap over all evictable leaves.
///
/// It matches, inserts, evicts and releases as any other index does, so a replay must find the same hits. It has one
/// whole-path group, like the original, calls only rank() of its policy, and needs hours for a chain of 100,000 nodes.
/// Functions that no row measures do nothing.
class BaselineIndex final : public PrefixIndex {
 public:
  explicit BaselineIndex(const Context& context);

  Lock match(const Key& key, const RequestFacts& request) override;
  GroupPages pages(const Lock& lock, Units from) override;
  Inserted insert(const Lock& lock, const Key& key, const GroupPages& pages, InsertFacts facts) override;
  GroupPages release(const Lock& lock, const RequestFacts* ended) override;
  GroupPages evict(std::size_t group, std::size_t pages, Cause cause, LeavingVisitor* visitor) override;
  using PrefixIndex::sizes;
  Sizes sizes(std::size_t) const override { return sizes_; }
  IndexUse use() const override { return {node_count_, 0, 0}; }  // its part of malloc's memory is not known
  Tick now() const override { return now_; }
  void visit(NodeVisitor& visitor) const override;

  Probe peek(const Key&) const override { return {}; }
  Found find(const Key&) override { return {}; }
  Lock hold(NodeId, const RequestFacts*) override { return {}; }
  GroupPages pages(NodeId, Units) override { return {}; }
  void relax(Lock&, std::size_t, Units) override {}

 private:
  using Words = std::vector<std::uint32_t>;
  struct HashOfWords {
    std::size_t operator()(const Words& words) const;
  };
  struct Node {
    std::uint32_t slot = 0, generation = 1;
    Node* parent = nullptr;  ///< may be null (a root, or not in use)
    std::unordered_map<Words, Node*, HashOfWords> children;
    Words words;
    std::vector<Page> pages;
    Units begin = 0, length = 0;
    std::uint32_t locks = 0, hits = 0, inserts = 0;
    Tick created = 0, last_access = 0;
    std::uint64_t tag = 0;
  };

  Units whole_units(std::size_t words) const;
  Words first_page(const Words& words) const { return {words.begin(), words.begin() + page_ + overlap_}; }
  Units common_units(const Node& node, const Words& words) const;
  Node* root_of(NamespaceId space);
  Node* node_of(NodeId id) const { return nodes_[slot_of(id)].get(); }
  static Lock lock_of(const Node& end) {
    const NodeId id = id_of(end);
    return {LockId{static_cast<std::uint64_t>(id)}, id, end.begin + end.length, {}, end.begin + end.length};
  }
  static NodeId id_of(const Node& node) { return NodeId{std::uint64_t{node.generation} << 32 | node.slot}; }
  Node* make();
  Node* split(Node* lower, Units at);
  void remove(Node* node);
  void lock_path(Node* node);
  void unlock_path(Node* node);
  void note_leaf(Node* node);
  NodeFacts facts(const Node& node) const;
  std::vector<const Node*> preorder(const Node* root) const;

  Units page_, overlap_;
  Group group_;
  std::vector<std::unique_ptr<Node>> roots_;  ///< by namespace
  std::vector<std::unique_ptr<Node>> nodes_;  ///< by slot; slot 0 is no node
  std::vector<std::uint32_t> free_;
  std::unordered_set<Node*> leaves_;  ///< evictable leaves
  Sizes sizes_;
  std::vector<Page> out_;
  Tick now_ = 0;
  std::uint64_t node_count_ = 0, allocated_ = 0;
};

}  // namespace canopy::bench
