#include "tree_text.h"

#include <canopy/support/figures.h>
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <vector>

namespace canopy::app {
namespace {

struct Item {
  std::size_t parent = 0;
  NamespaceId space{};
  std::uint64_t length = 0, subtree = 0, nodes = 1;
  std::uint32_t hits = 0, locks = 0;
  std::vector<std::size_t> children;
  bool shown = false;
};

/// Item 0 is the index; under it one item for each namespace, under those the nodes.
class Outline final : public NodeVisitor {
 public:
  Outline() : items(1) {}
  void node(const NodeView& node) override {
    Item item;
    item.space = node.facts.space;
    item.length = item.subtree = node.facts.length;
    item.hits = node.facts.hits;
    item.locks = node.locks[0];
    if (node.parent != NodeId::none) {
      item.parent = by_id_.at(node.parent);
    } else {
      auto [space, is_new] = by_space_.emplace(node.facts.space, items.size());
      if (is_new) {
        items.push_back({});
        items.back().space = node.facts.space;
        items.back().nodes = 0;
        items[0].children.push_back(space->second);
      }
      item.parent = space->second;
    }
    by_id_.emplace(node.facts.id, items.size());
    items[item.parent].children.push_back(items.size());
    items.push_back(std::move(item));
  }
  /// Parents come before children, so one pass from the back adds everything up.
  void add_up() {
    for (std::size_t i = items.size(); --i > 0;) {
      items[items[i].parent].subtree += items[i].subtree;
      items[items[i].parent].nodes += items[i].nodes;
    }
    for (Item& item : items)
      std::sort(item.children.begin(), item.children.end(), [&](std::size_t a, std::size_t b) {
        return items[a].subtree != items[b].subtree ? items[a].subtree > items[b].subtree : a < b;
      });
  }
  std::vector<Item> items;

 private:
  std::unordered_map<NodeId, std::size_t> by_id_;
  std::unordered_map<NamespaceId, std::size_t> by_space_;
};

}  // namespace

std::string tree_text(const Engine& engine, std::size_t most_lines, bool unicode) {
  Outline outline;
  engine.index().visit(outline);
  outline.add_up();
  std::vector<Item>& items = outline.items;

  // The heaviest subtrees are shown, a level further down only where their parent is: so the lines go where the
  // tokens are. A parent's line that says what is left out below it takes a line as well.
  const auto lighter = [&](std::size_t a, std::size_t b) { return items[a].subtree < items[b].subtree; };
  std::vector<std::size_t> edge = items[0].children;
  std::make_heap(edge.begin(), edge.end(), lighter);
  for (std::size_t lines = 0; lines < most_lines && !edge.empty(); lines += 2) {
    std::pop_heap(edge.begin(), edge.end(), lighter);
    const std::size_t at = edge.back();
    edge.pop_back();
    items[at].shown = true;
    for (const std::size_t child : items[at].children) {
      edge.push_back(child);
      std::push_heap(edge.begin(), edge.end(), lighter);
    }
  }

  struct Turn {
    std::size_t at;
    std::string indent;
    bool last;
  };
  const char* const fork = unicode ? "├─ " : "|- ";
  const char* const corner = unicode ? "└─ " : "`- ";
  const char* const bar = unicode ? "│  " : "|  ";
  std::string text;
  std::vector<Turn> turns;
  const auto push_children = [&](std::size_t at, const std::string& indent) {
    std::size_t shown = 0;
    while (shown < items[at].children.size() && items[items[at].children[shown]].shown) ++shown;
    const bool rest = shown < items[at].children.size();
    if (rest) turns.push_back({at, indent, true});  // its own turn again: what is left out
    for (std::size_t i = shown; i-- > 0;) turns.push_back({items[at].children[i], indent, !rest && i + 1 == shown});
  };
  push_children(0, "");
  std::vector<bool> done(items.size());
  done[0] = true;
  while (!turns.empty()) {
    const Turn turn = std::move(turns.back());
    turns.pop_back();
    const Item& item = items[turn.at];
    text += turn.indent;
    if (done[turn.at]) {
      std::uint64_t tokens = 0, nodes = 0;
      for (const std::size_t child : item.children)
        if (!items[child].shown) tokens += items[child].subtree, nodes += items[child].nodes;
      text += fmt::format("{}{} more, {}\n", corner, plural(nodes, "node"), plural(tokens, "token"));
      continue;
    }
    done[turn.at] = true;
    if (item.parent == 0)
      text += fmt::format("{}  {} in {}\n", engine.name_of(item.space), plural(item.subtree, "token"),
                          plural(item.nodes, "node"));
    else
      text +=
          fmt::format("{}{}, {}{}\n", turn.last ? corner : fork, plural(item.length, "token"), plural(item.hits, "hit"),
                      item.locks ? fmt::format(", held by {}", plural(item.locks, "request")) : std::string());
    push_children(turn.at, item.parent == 0 ? turn.indent : turn.indent + (turn.last ? "   " : bar));
  }
  return text;
}

}  // namespace canopy::app
