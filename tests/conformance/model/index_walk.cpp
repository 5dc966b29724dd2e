#include "index_walk.h"

#include <fmt/format.h>

namespace canopy::test {

std::vector<WalkedNode> walk(const PrefixIndex& index) {
  struct Collector final : NodeVisitor {
    std::vector<WalkedNode> nodes;
    void node(const NodeView& view) override {
      WalkedNode& node = nodes.emplace_back();
      node.facts = view.facts, node.parent = view.parent, node.locks = view.locks;
      node.words.assign(view.words.begin(), view.words.end());
      for (std::size_t g = 0; g < kMaxGroups; ++g) node.pages[g].assign(view.pages[g].begin(), view.pages[g].end());
    }
  } collector;
  index.visit(collector);
  return std::move(collector.nodes);
}

std::string shape_of(const PrefixIndex& index, const std::vector<std::string>& groups, Units scale) {
  struct Shape final : NodeVisitor {
    const std::vector<std::string>& groups;
    Units scale;
    std::vector<std::string> nodes;
    Shape(const std::vector<std::string>& names, Units units) : groups(names), scale(units) {}
    void node(const NodeView& node) override {
      std::vector<std::string> resident;
      for (std::size_t g = 0; g < groups.size(); ++g)
        if (!node.pages[g].empty()) resident.push_back(groups[g]);
      std::string text =
          fmt::format("{}..{}", node.facts.begin / scale, (node.facts.begin + node.facts.length) / scale);
      if (resident.empty()) text += ":-";
      else if (resident.size() < groups.size()) text += fmt::format(":{}", fmt::join(resident, "+"));
      nodes.push_back(std::move(text));
    }
  } shape(groups, scale);
  index.visit(shape);
  return shape.nodes.empty() ? "none" : fmt::format("{}", fmt::join(shape.nodes, " "));
}

}  // namespace canopy::test
