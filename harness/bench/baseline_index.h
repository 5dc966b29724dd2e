#pragma once

#include <canopy/plugin.h>

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace canopy::bench {

/// The algorithm of the original radix caches (SGLang's RadixCache and what follows it), written plainly: what an
/// index is compared with, not an index to use. Each node has a map of its children, keyed by their first page. The
/// rest of the key is copied at each level. A split copies words and pages. A lock counts up to the root, an insert
/// walks and stamps from the root, and an eviction builds a heap over all evictable leaves.
///
/// Its answers are those of any other index, so a replay must find the same hits. It has one whole-path group, as the
/// original. It breaks two duties of an index: it asks a policy for ranks only when it evicts, not when a leaf becomes
/// evictable, and a chain of 100,000 nodes takes hours. IndexUse::bytes is 0, since its part of malloc's memory is not
/// known.
class BaselineIndex final : public PrefixIndex {
 public:
  explicit BaselineIndex(const Context& context);

  Probe peek(const Key& key) const override;
  Lock match(const Key& key, const RequestFacts& request) override;
  Found find(const Key& key) override;
  Lock hold(NodeId node, const RequestFacts* arrives) override;
  GroupPages pages(const Lock& lock, Units from) override;
  GroupPages pages(NodeId node, Units from) override;
  Inserted insert(const Lock& lock, const Key& key, const GroupPages& pages, InsertFacts facts) override;
  void relax(Lock&, std::size_t, Units) override {}
  GroupPages release(const Lock& lock, const RequestFacts* ended) override;
  GroupPages evict(std::size_t group, std::size_t pages, Cause cause, LeavingVisitor* told) override;
  GroupPages flush(NamespaceId space) override;
  GroupPages clear() override;
  Sizes sizes(std::size_t) const override { return sizes_; }
  Sizes sizes(std::size_t group, NamespaceId space) const override;
  IndexUse use() const override { return {node_count_, 0, refused_}; }
  Tick now() const override { return now_; }
  void use_policy(std::size_t, EvictionStrategy* policy) override;
  void waiting(std::size_t group, QueueVisitor& visitor) const override;
  void set_capacity(std::size_t, std::uint64_t units) override { group_.capacity = units; }
  void remap(std::size_t group, std::span<const Page> from, std::span<const Page> to) override;
  void visit(NodeVisitor& visitor) const override;

 private:
  using Words = std::vector<std::uint32_t>;
  struct HashOfWords {
    std::size_t operator()(const Words& words) const;
  };
  struct Node {
    std::uint32_t slot = 0, generation = 1;
    NamespaceId space{};
    Node* parent = nullptr;  ///< null: a root, or not in use
    std::unordered_map<Words, Node*, HashOfWords> children;
    Words words;
    std::vector<Page> pages;
    Units begin = 0, length = 0;
    std::uint32_t locks = 0, hits = 0, inserts = 0;
    std::int32_t priority = 0;
    Tick created = 0, last_access = 0, spared = 0;
    std::uint64_t tag = 0;
  };
  struct Space {
    std::unique_ptr<Node> root;
    Sizes sizes;
  };
  class PathOf;

  Units whole_units(std::size_t words) const;
  Words first_page(const Words& words) const { return {words.begin(), words.begin() + page_ + overlap_}; }
  Units common_units(const Node& node, const Words& words) const;
  Node* root_of(NamespaceId space);
  Node* walk(const Key& key);
  void tell_arrived(const RequestFacts& request);
  Lock use(Node* end);
  Node* node_of(NodeId id) const;
  static NodeId id_of(const Node& node) { return NodeId{std::uint64_t{node.generation} << 32 | node.slot}; }
  Node* make();
  Node* split(Node* lower, Units at);
  void remove(Node* node, Cause cause);
  void tell_leaving(const Node& node, LeavingVisitor& told) const;
  void lock_path(Node* node);
  void unlock_path(Node* node);
  void note_leaf(Node* node);
  PolicyClock clock() const;
  NodeFacts facts(const Node& node) const;
  Eviction eviction_of(const Node& node, Cause cause);
  std::vector<const Node*> preorder(const Node* root) const;
  GroupPages out() const { return {std::span<const Page>(out_)}; }

  Units page_, overlap_;
  Group group_;
  std::vector<Space> spaces_;
  std::vector<std::unique_ptr<Node>> nodes_;  ///< by slot; slot 0 is no node
  std::vector<std::uint32_t> free_;
  std::unordered_set<Node*> leaves_;  ///< evictable leaves
  Sizes sizes_;
  std::vector<Page> out_;
  std::vector<std::uint64_t> prints_;
  Tick now_ = 0;
  std::uint64_t node_count_ = 0, refused_ = 0, allocated_ = 0;
};

}  // namespace canopy::bench
