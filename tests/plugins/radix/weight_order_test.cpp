#include <conformance/model/index_walk.h>
#include <conformance/model/plugins.h>

#include <canopy/base/random.h>
#include <canopy/prefix_index.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <vector>

namespace {

using namespace canopy;
using namespace canopy::test;

/// SGLang's `dfs-weight` as its source says it: every node of the tree is weighed and visited.
class WholeTree {
 public:
  WholeTree(const PrefixIndex& index, bool ages_give_order) {
    for (const WalkedNode& node : walk(index)) {
      children_[node.parent].push_back(node.facts.id);
      created_[node.facts.id] = node.facts.created;
    }
    // Namespaces come one after the other, and are children of one root.
    if (ages_give_order) std::ranges::sort(children_[NodeId::none], {}, [&](NodeId node) { return created_[node]; });
  }

  std::vector<std::uint32_t> order(const std::vector<NodeId>& ends) {
    waiting_.clear();
    weight_.clear();
    order_.clear();
    for (std::uint32_t i = 0; i < ends.size(); ++i)
      waiting_[created_.contains(ends[i]) ? ends[i] : NodeId::none].push_back(i);
    weigh(NodeId::none);
    visit(NodeId::none);
    return order_;
  }

 private:
  std::size_t weigh(NodeId node) {
    std::size_t weight = waiting_[node].size();
    for (const NodeId child : children_[node]) weight += weigh(child);
    return weight_[node] = weight;
  }
  void visit(NodeId node) {
    const std::vector<NodeId>& children = children_[node];
    std::multimap<std::size_t, NodeId, std::greater<>> heaviest_first;  // those of one weight: as they came
    for (const NodeId child : children) heaviest_first.emplace(weight_[child], child);
    for (const auto& [weight, child] : heaviest_first) visit(child);
    order_.insert(order_.end(), waiting_[node].begin(), waiting_[node].end());
  }

  std::map<NodeId, std::vector<NodeId>> children_;
  std::map<NodeId, Tick> created_;
  std::map<NodeId, std::vector<std::uint32_t>> waiting_;
  std::map<NodeId, std::size_t> weight_;
  std::vector<std::uint32_t> order_;
};

/// A random tree that grows, is split and evicted.
struct RandomTree {
  RandomTree(std::uint64_t seed, const char* options, std::uint32_t some_namespaces)
      : random(seed), namespaces(some_namespaces), policy(make<EvictionStrategy>("lru", {})) {
    group[0] = {"full", kWholePath, kUnlimited, policy.get()};
    index = make<PrefixIndex>("radix", {1, 0, group}, options);
  }
  NamespaceId space() { return NamespaceId{static_cast<std::uint32_t>(random.below(namespaces))}; }
  std::vector<std::uint32_t> words() {
    std::vector<std::uint32_t> all(1 + random.below(12));
    for (std::uint32_t& word : all) word = static_cast<std::uint32_t>(random.below(3));
    return all;
  }
  void change() {
    if (random.one_in(8)) {
      index->evict(0, 1 + random.below(6));
      return;
    }
    const auto key = words();
    std::vector<Page> pages(key.size());
    std::iota(pages.begin(), pages.end(), next);
    next += static_cast<Page>(pages.size());
    index->release(index->insert({}, {space(), key}, {pages}, {}).lock);
  }

  Random random;
  std::uint32_t namespaces;
  std::shared_ptr<EvictionStrategy> policy;
  std::array<Group, 1> group;
  std::shared_ptr<PrefixIndex> index;
  Page next = 1;
};

}  // namespace

TEST_CASE("requests are ordered by the weight of their subtrees as a walk over the whole tree orders them") {
  std::size_t deep = 0;
  const auto run = [&](const char* options, bool ages_give_order, std::uint32_t namespaces) {
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
      RandomTree tree(seed, options, namespaces);
      for (int round = 0; round < 20; ++round) {
        for (int i = 0; i < 10; ++i) tree.change();
        std::vector<NodeId> ends{NodeId::none};
        for (std::size_t i = tree.random.below(60); i > 0; --i) {
          const auto key = tree.words();
          ends.push_back(tree.index->find({tree.space(), key}).node);
        }
        if (tree.random.one_in(3)) tree.index->evict(0, 5);  // and now some of them are gone
        std::vector<std::uint32_t> order(ends.size());
        tree.index->scheduling()->order_by_weight(ends, order);
        CAPTURE(options);
        CAPTURE(seed);
        CHECK(order == WholeTree(*tree.index, ages_give_order).order(ends));
        deep += order.front() != 0;
      }
    }
  };
  run("{}", true, 1);
  run("{}", true, 4);
  run("{ accounting: sglang_unified }", true, 3);
  // Splits make nodes new here: the list of children shows which was first.
  run("{ accounting: sglang }", false, 1);
  run("{ accounting: sglang }", false, 3);
  CHECK(deep > 3000);
}

TEST_CASE("an index that orders requests orders all of them once, also those of nodes that it does not know") {
  for (const std::string& name : names_of<PrefixIndex>()) {
    const auto policy = make<EvictionStrategy>("lru", {});
    const std::array<Group, 1> group{Group{"full", kWholePath, kUnlimited, policy.get()}};
    const auto index = make<PrefixIndex>(name, {1, 0, group});
    const std::vector<NodeId> ends{NodeId::none, NodeId{77}, NodeId{std::uint64_t{1} << 32 | 1}, NodeId::none};
    std::vector<std::uint32_t> order(ends.size(), 9);
    CAPTURE(name);
    const SchedulingIndex* const scheduling = index->scheduling();
    CHECK((scheduling != nullptr) == (name == "radix"));
    if (!scheduling) continue;
    scheduling->order_by_weight(ends, order);
    CHECK(order == std::vector<std::uint32_t>{0, 1, 2, 3});
    scheduling->order_by_weight({}, {});
  }
}

TEST_CASE("the heaviest subtree comes first, of two as heavy the older one, and a node after what is below it") {
  RandomTree tree(1, "{}", 1);
  Page next = 1;
  const auto insert = [&](std::vector<std::uint32_t> key) {
    std::vector<Page> pages(key.size());
    std::iota(pages.begin(), pages.end(), next);
    next += static_cast<Page>(pages.size());
    tree.index->release(tree.index->insert({}, {NamespaceId::shared, key}, {pages}, {}).lock);
  };
  const auto at = [&](std::vector<std::uint32_t> key) { return tree.index->find({NamespaceId::shared, key}).node; };
  insert({1, 1, 1});
  insert({2, 2, 2});
  insert({3, 3, 3});
  const std::vector<NodeId> ends{at({9}), at({2, 2}), at({3}), at({1, 1, 1}), at({2, 2, 2}), at({3, 3, 3})};
  std::vector<std::uint32_t> order(ends.size());
  tree.index->scheduling()->order_by_weight(ends, order);
  // Two wait below 2, two below 3, one below 1. The one that the cache does not know waits at the root.
  CHECK(order == std::vector<std::uint32_t>{4, 1, 5, 2, 3, 0});
}
