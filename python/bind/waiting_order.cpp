#include "waiting_order.h"

#include <algorithm>
#include <numeric>
#include <ranges>
#include <unordered_map>

namespace canopy::python {
namespace {

/// The shape of the tree, parents before children; place 0 is the root of all namespaces.
struct Shape final : NodeVisitor {
  std::vector<std::size_t> parent{0};
  std::unordered_map<NodeId, std::size_t> places;

  void node(const NodeView& node) override {
    places.emplace(node.facts.id, parent.size());
    parent.push_back(node.parent == NodeId::none ? 0 : places.at(node.parent));
  }
  std::size_t place(NodeId id) const {
    const auto found = places.find(id);
    return found == places.end() ? 0 : found->second;
  }
};

}  // namespace

std::vector<std::size_t> dfs_weight_order(const PrefixIndex& index, std::span<const NodeId> nodes) {
  Shape shape;
  index.visit(shape);
  std::vector<std::vector<std::size_t>> waiters(shape.parent.size()), children(shape.parent.size());
  std::vector<std::size_t> weight(shape.parent.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) waiters[shape.place(nodes[i])].push_back(i);
  for (std::size_t at = shape.parent.size(); at-- > 0;) {
    weight[at] += waiters[at].size();
    if (at == 0 || weight[at] == 0) continue;  // a subtree without waiting requests does not change the order
    weight[shape.parent[at]] += weight[at];
    children[shape.parent[at]].push_back(at);
  }
  for (auto& below : children)
    std::ranges::sort(
        below, [&](std::size_t a, std::size_t b) { return weight[a] != weight[b] ? weight[a] > weight[b] : a < b; });

  std::vector<std::size_t> order;
  struct Turn {
    std::size_t at;
    bool back;
  };
  std::vector<Turn> turns{{0, false}};  // recursion would be as deep as the tree
  while (!turns.empty()) {
    const Turn turn = turns.back();
    turns.pop_back();
    if (turn.back) {
      order.insert(order.end(), waiters[turn.at].begin(), waiters[turn.at].end());
      continue;
    }
    turns.push_back({turn.at, true});
    for (const std::size_t child : std::views::reverse(children[turn.at])) turns.push_back({child, false});
  }
  return order;
}

}  // namespace canopy::python
