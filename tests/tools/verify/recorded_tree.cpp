#include "recorded_tree.h"

#include "recorded_json.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_map>

namespace canopy::verify {
namespace {

/// Returns the nodes in the order of recorded_tree(). A root's parent is the number of rows.
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

std::vector<std::uint64_t> first_of_pages(std::span<const std::uint32_t> all, const std::string& called, Units page) {
  if (all.size() % page != 0)
    throw BadValue(fmt::format("'{}' has {} slots, which are not whole pages of {}", called, all.size(), page));
  std::vector<std::uint64_t> firsts;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i % page == 0) firsts.push_back(all[i]);
    else if (all[i] != firsts.back() + i % page)
      throw BadValue(fmt::format("slot {} of '{}' is {}; expected {}, because the slots of a page are consecutive",
                                 i + 1, called, all[i], firsts.back() + i % page));
  }
  return firsts;
}

std::vector<RecordedNode> recorded_tree(const nlohmann::json& tree, Units page) {
  constexpr std::size_t kFields = 8;
  std::vector<RecordedNode> theirs;
  std::vector<std::size_t> parents, path;
  if (!tree.is_array()) throw BadValue("'tree' is not a list");
  for (const nlohmann::json& row : tree) {
    if (!row.is_array() || row.size() != kFields)
      throw BadValue(fmt::format("row {} of 'tree' is not a list of {} values", theirs.size() + 1, kFields));
    const auto called = [&](const char* what) {
      return fmt::format("{} in row {} of 'tree'", what, theirs.size() + 1);
    };
    const auto depth = static_cast<std::uint32_t>(whole(row[0], called("depth"), path.size()));
    path.resize(depth);
    parents.push_back(path.empty() ? tree.size() : path.back());
    path.push_back(theirs.size());
    theirs.push_back({depth, numbers(row[1], called("tokens")),
                      first_of_pages(numbers(row[2], called("slots")), called("slots"), page),
                      whole(row[3], called("locks")), whole(row[4], called("hits")),
                      whole(row[6], called("last access")), whole(row[7], called("creation")),
                      signed_whole(row[5], called("priority"))});
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
