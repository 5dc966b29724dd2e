#include "tree_text.h"

#include <canopy/base/figures.h>
#include <canopy/base/printable.h>
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

/// The tree as items. Item 0 is the index; its children are the namespaces, and below them are the nodes.
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
  /// Adds up subtrees. Parents come before children, so one pass from the back is enough.
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
  /// Marks the items to show in `most_lines` lines. The heaviest subtrees come first, and a node only if its parent is
  /// shown, so that the lines go to where the tokens are. A line about items left out below a node counts as well.
  void choose(std::size_t most_lines) {
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
  }
  std::vector<Item> items;

 private:
  std::unordered_map<NodeId, std::size_t> by_id_;
  std::unordered_map<NamespaceId, std::size_t> by_space_;
};

/// Writes an outline: a line for each shown item, and one for the items left out below it.
class OutlineText {
 public:
  OutlineText(const Engine& engine, const std::vector<Item>& items, bool unicode)
      : engine_(engine),
        items_(items),
        fork_(unicode ? "├─ " : "|- "),
        corner_(unicode ? "└─ " : "`- "),
        bar_(unicode ? "│  " : "|  ") {}

  /// Uses a stack of turns instead of recursion, which would follow the depth of the tree; that may be a hundred
  /// thousand.
  std::string write() {
    push_children(0, "");
    while (!turns_.empty()) {
      const Turn turn = std::move(turns_.back());
      turns_.pop_back();
      text_ += turn.indent;
      if (turn.rest) {
        write_rest(items_[turn.at]);
        continue;
      }
      write_item(turn);
      const bool is_space = items_[turn.at].parent == 0;
      push_children(turn.at, is_space ? turn.indent : turn.indent + (turn.last ? "   " : bar_));
    }
    return std::move(text_);
  }

 private:
  struct Turn {
    std::size_t at;
    std::string indent;
    bool last;
    bool rest = false;  ///< true: the line about items left out below `at`
  };

  void push_children(std::size_t at, const std::string& indent) {
    const std::vector<std::size_t>& children = items_[at].children;
    std::size_t shown = 0;
    while (shown < children.size() && items_[children[shown]].shown) ++shown;
    const bool rest = shown < children.size();
    if (rest) turns_.push_back({at, indent, true, true});
    for (std::size_t i = shown; i-- > 0;) turns_.push_back({children[i], indent, !rest && i + 1 == shown});
  }

  void write_rest(const Item& item) {
    std::uint64_t tokens = 0, nodes = 0;
    for (const std::size_t child : item.children)
      if (!items_[child].shown) tokens += items_[child].subtree, nodes += items_[child].nodes;
    text_ += fmt::format("{}{} more, {}\n", corner_, plural(nodes, "node"), plural(tokens, "token"));
  }

  void write_item(const Turn& turn) {
    const Item& item = items_[turn.at];
    if (item.parent == 0)
      text_ += fmt::format("{}  {} in {}\n", printable(shown_name(engine_.name_of(item.space))),
                           plural(item.subtree, "token"), plural(item.nodes, "node"));
    else
      text_ += fmt::format("{}{}, {}{}\n", turn.last ? corner_ : fork_, plural(item.length, "token"),
                           plural(item.hits, "hit"),
                           item.locks ? fmt::format(", locked by {}", plural(item.locks, "request")) : std::string());
  }

  const Engine& engine_;
  const std::vector<Item>& items_;
  const char *fork_, *corner_, *bar_;
  std::vector<Turn> turns_;
  std::string text_;
};

}  // namespace

std::string tree_text(const Engine& engine, std::size_t most_lines, bool unicode) {
  Outline outline;
  engine.index().visit(outline);
  outline.add_up();
  outline.choose(most_lines);
  return OutlineText(engine, outline.items, unicode).write();
}

}  // namespace canopy::app
