#include "recorded_tree.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_map>

namespace canopy::verify {
namespace {

/// A root's parent is the number of rows.
std::vector<RecordedNode> in_order(const std::vector<RecordedNode>& rows, const std::vector<std::size_t>& parents) {
  std::vector<std::vector<std::size_t>> children(rows.size() + 1);
  for (std::size_t i = 0; i < rows.size(); ++i) children[parents[i]].push_back(i);
  for (auto& siblings : children)
    std::sort(siblings.begin(), siblings.end(),
              [&](std::size_t a, std::size_t b) { return rows[a].slots > rows[b].slots; });
  std::vector<RecordedNode> ordered;
  std::vector<std::size_t> open = children[rows.size()];
  while (!open.empty()) {
    const std::size_t at = open.back();
    open.pop_back();
    ordered.push_back(rows[at]);
    open.insert(open.end(), children[at].begin(), children[at].end());
  }
  return ordered;
}

struct Collect final : NodeVisitor {
  std::vector<RecordedNode> rows;
  std::vector<std::size_t> parents;
  std::unordered_map<NodeId, std::size_t> places;
  void node(const NodeView& node) override {
    const auto parent = places.find(node.parent);
    parents.push_back(parent == places.end() ? ~std::size_t{0} : parent->second);
    places.emplace(node.facts.id, rows.size());
    rows.push_back({parent == places.end() ? 0 : rows[parents.back()].depth + 1,
                    {node.words.begin(), node.words.end()},
                    {node.pages[0].begin(), node.pages[0].end()},
                    node.locks[0],
                    node.facts.hits,
                    node.facts.last_access,
                    node.facts.created,
                    node.facts.priority});
  }
};

}  // namespace

std::string RecordedNode::text() const {
  return fmt::format("depth {} tokens {} slots {} locks {} hits {} priority {} last access {} created {}", depth,
                     tokens, slots, locks, hits, priority, last_access, created);
}

std::vector<std::uint64_t> first_of_pages(const nlohmann::json& slots, Units page) {
  std::vector<std::uint64_t> firsts;
  for (std::size_t i = 0; i < slots.size(); i += page) firsts.push_back(slots[i]);
  return firsts;
}

std::vector<RecordedNode> recorded_tree(const nlohmann::json& tree, Units page) {
  std::vector<RecordedNode> theirs;
  std::vector<std::size_t> parents, path;
  for (const nlohmann::json& row : tree) {
    const std::uint32_t depth = row.at(0);
    path.resize(std::min<std::size_t>(path.size(), depth));
    parents.push_back(path.empty() ? tree.size() : path.back());
    path.push_back(theirs.size());
    theirs.push_back(
        {depth, row.at(1), first_of_pages(row.at(2), page), row.at(3), row.at(4), row.at(6), row.at(7), row.at(5)});
  }
  return in_order(theirs, parents);
}

std::vector<RecordedNode> tree_of(const PrefixIndex& index) {
  Collect collect;
  index.visit(collect);
  for (std::size_t& parent : collect.parents)
    if (parent == ~std::size_t{0}) parent = collect.rows.size();
  return in_order(collect.rows, collect.parents);
}

}  // namespace canopy::verify
