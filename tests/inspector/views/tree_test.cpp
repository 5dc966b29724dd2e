#include <doctest/doctest.h>
#include <mirror/names.h>
#include <views/node_link.h>

#include <algorithm>
#include <cstdio>
#include <numeric>

#include "show.h"

using namespace canopy;
using namespace canopy::inspector;
using namespace canopy::test;

namespace {

std::vector<Token> numbers(Token first, std::size_t count) {
  std::vector<Token> tokens(count);
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}
std::vector<Token> joined(std::vector<Token> a, const std::vector<Token>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// Every node of the mirror is an item, in a bundle or below one, once; boxes of a column are apart, and links go from
/// a parent to what hangs on it.
void check_items(const Show& show, const std::vector<NodeLinkItem>& items, std::uint32_t rows) {
  std::uint64_t nodes = 0, tokens = 0;
  std::vector<std::uint32_t> row_of_column(kMostColumns + 1);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> taken;  // column, row
  for (const NodeLinkItem& item : items) {
    REQUIRE(item.column <= kMostColumns);
    REQUIRE(item.row + item.rows <= rows);
    taken.emplace_back(item.column, item.row);
    if (item.bundled != 0) {
      REQUIRE(item.rows == 1);
      nodes += item.mix.nodes, tokens += item.mix.tokens;
    } else {
      const TreeIndex::Node& node = show.index[item.place];
      nodes += node.slot == 0 ? 0 : node.chain, tokens += node.own;
      REQUIRE(item.mix.tokens == node.tokens);
    }
    if (item.parent == NodeLinkItem::kNone) continue;
    const NodeLinkItem& parent = items[item.parent];
    REQUIRE(parent.bundled == 0);
    REQUIRE(parent.column + 1 == item.column);
    REQUIRE(item.row >= parent.row);
    REQUIRE(item.row + item.rows <= parent.row + parent.rows);
    REQUIRE(show.index.parent_of(item.place) == parent.place);
  }
  CHECK(nodes == show.mirror.node_count());
  CHECK(tokens == show.index.tokens());
  std::sort(taken.begin(), taken.end());
  CHECK(std::adjacent_find(taken.begin(), taken.end()) == taken.end());
}

}  // namespace

TEST_CASE("the index knows children, leaves and the heaviest of a range") {
  Show show(10'000);
  const auto root = show.script.add(0, 2), left = show.script.add(root, 3), right = show.script.add(root, 5);
  std::vector<std::uint64_t> leaves;
  for (std::uint32_t i = 0; i < 2000; ++i) leaves.push_back(show.script.add(left, 1 + i * 7919 % 5));
  show.look();
  const auto place = [&](std::uint64_t id) { return show.index.place_of(slot_of(NodeId{id})); };
  CHECK(show.index.roots().count == 1);
  CHECK(show.index.children(place(root)).first == place(left));
  CHECK(show.index.children(place(root)).count == 2);
  CHECK(show.index.children(place(right)).count == 0);
  CHECK(show.index.leaves(place(root)) == 2001);
  CHECK(show.index.leaves(place(right)) == 1);
  CHECK(show.index.parent_of(place(left)) == place(root));
  const TreeIndex::Range range = show.index.children(place(left));
  REQUIRE(range.count == 2000);
  std::vector<std::uint32_t> all(range.count);
  std::iota(all.begin(), all.end(), range.first);
  std::sort(all.begin(), all.end(), [&](std::uint32_t a, std::uint32_t b) {
    return show.index[a].tokens != show.index[b].tokens ? show.index[a].tokens > show.index[b].tokens : a < b;
  });
  for (const std::size_t most : {0U, 1U, 7U, 500U, 1999U, 2000U, 5000U}) {
    std::vector<std::uint32_t> wanted(all.begin(),
                                      all.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(most, 2000)));
    std::sort(wanted.begin(), wanted.end());
    CHECK(show.index.heaviest(range, most) == wanted);
  }
  show.look({left});
  CHECK(show.index.children(place(left)).count == 0);
  CHECK(show.index.leaves(place(root)) == 2);
}

TEST_CASE("nodes and links stand for every node once, in the rows there are, from a thousand nodes to a million") {
  for (const std::size_t nodes : {std::size_t{1000}, std::size_t{100'000}, std::size_t{1'000'000}}) {
    Show show(2 * nodes + 200);
    grow(show.script, nodes);
    for (int i = 0; i < 30; ++i) show.script.add(show.script.add(0, 3, static_cast<std::uint32_t>(1 + i)), 2);
    show.look();
    std::vector<NodeLinkItem> items;
    for (const std::uint32_t rows : {1U, 2U, 9U, 40U, 1000U}) {
      const double layout = seconds_of([&] { lay_out(show.index, {TreeIndex::kNowhere, rows, {}}, items); });
      std::printf("%zu nodes, %u rows: layout %.2f ms, %zu items\n", nodes, rows, layout * 1e3, items.size());
      CHECK(items.size() <= 5 * rows);  // a tree of four levels, and bundles below the last row's
      check_items(show, items, rows);
    }
    // A subtree alone has all rows.
    lay_out(show.index, {show.index.place_of(1), 40, {}}, items);
    CHECK(items.front().place == show.index.place_of(1));
    CHECK(items.front().rows == 40);
  }
}

TEST_CASE("the heaviest of too many siblings stay, and the selected one does too") {
  Show show(5000);
  const auto root = show.script.add(0, 1);
  std::vector<std::uint64_t> children;
  for (std::uint32_t i = 0; i < 100; ++i) children.push_back(show.script.add(root, i == 70 || i == 20 ? 9 : 1));
  show.look();
  const auto place = [&](std::uint64_t id) { return show.index.place_of(slot_of(NodeId{id})); };
  std::vector<NodeLinkItem> items;
  const auto has = [&](std::uint64_t id) {
    return std::any_of(items.begin(), items.end(),
                       [&](const NodeLinkItem& item) { return item.bundled == 0 && item.place == place(id); });
  };
  lay_out(show.index, {TreeIndex::kNowhere, 4, {}}, items);
  CHECK(has(children[20]));
  CHECK(has(children[70]));
  CHECK_FALSE(has(children[99]));
  CHECK(items.back().bundled == 97);
  CHECK(items.back().mix.nodes == 97);
  CHECK(items.back().mix.tokens == 97 * 16);
  const std::vector<std::uint32_t> path{place(children[99]), place(root), 0};
  lay_out(show.index, {TreeIndex::kNowhere, 4, path}, items);
  CHECK(has(children[99]));
  check_items(show, items, 4);
}

TEST_CASE("a comb of 100,000 levels is as many columns as are allowed") {
  Show show(400'000);
  grow_comb(show.script, 100'000);
  show.look();
  std::vector<NodeLinkItem> items;
  for (const std::uint32_t rows : {1U, 20U, 4096U}) {
    lay_out(show.index, {TreeIndex::kNowhere, rows, {}}, items);
    CHECK(items.size() <= 3 * kMostColumns);
    check_items(show, items, rows);
  }
}

TEST_CASE("two numbers and more are a prefix, one is a node, and anything else is a namespace") {
  CHECK(parse_prefix("t 12") == std::vector<Token>{12});
  CHECK(parse_prefix("12 845,9") == std::vector<Token>{12, 845, 9});
  CHECK(parse_prefix("[1, 2, 4294967295]") == std::vector<Token>{1, 2, 4294967295});
  for (const char* other : {"", "12", "t", "t x", "tenant 1", "1 2 x", "1 -2", "1 4294967296", "1.5 2", "#12"})
    CHECK_FALSE(parse_prefix(other));
}

TEST_CASE("a prefix leads to the nodes in which its last known token lies") {
  Show show(1000, true);
  const auto root = show.script.add(0, 1), left = show.script.add(root, 1), right = show.script.add(root, 2);
  const auto leaf = show.script.add(right, 1), other = show.script.add(0, 1, 1);
  const auto begin = numbers(100, 16);
  show.script.words(root, begin);
  show.script.words(left, joined({7, 8}, numbers(200, 14)));
  show.script.words(right, joined({7, 9}, numbers(300, 30)));
  show.script.words(leaf, numbers(400, 16));
  show.script.words(other, begin);
  show.look();
  using Ids = std::vector<std::uint64_t>;
  const auto find = [&](const std::vector<Token>& prefix) {
    PrefixMatch match = find_prefix(show.mirror, prefix);
    std::sort(match.nodes.begin(), match.nodes.end());
    return std::pair(match.tokens, match.nodes);
  };
  CHECK(find({1}) == std::pair(std::size_t{0}, Ids{}));
  CHECK(find({100, 101}) == std::pair(std::size_t{2}, Ids{root, other}));
  CHECK(find(begin) == std::pair(std::size_t{16}, Ids{root, other}));
  CHECK(find(joined(begin, {7})) == std::pair(std::size_t{17}, Ids{left, right}));
  CHECK(find(joined(begin, {7, 8, 200, 0})) == std::pair(std::size_t{19}, Ids{left}));
  CHECK(find(joined(joined(begin, {7, 9}), numbers(300, 30))) == std::pair(std::size_t{48}, Ids{right}));
  CHECK(find(joined(joined(joined(begin, {7, 9}), numbers(300, 30)), {400, 401, 5})) ==
        std::pair(std::size_t{50}, Ids{leaf}));
}

TEST_CASE("a search says what it found, steps over what has left, and says what a feed without tokens lacks") {
  Show show(1000, true);
  std::vector<std::uint64_t> same;
  for (std::uint32_t space = 0; space < 3; ++space) {
    show.script.name_space(space, "tenant-" + std::to_string(space));
    same.push_back(show.script.add(0, 1, space));
    show.script.words(same.back(), numbers(1, 16));
  }
  show.look();
  TreeSearch search;
  search.look_for(show.mirror, "t 1 2 3");
  REQUIRE(search.hits() == 3);
  CHECK(search.sentence() == "the prefix is here, 3 tokens: 1 of 3, n: next, N: previous");
  const std::uint64_t first = search.hit()->node;
  CHECK(search.step(show.mirror));
  const std::uint64_t second = search.hit()->node;
  CHECK(second != first);
  CHECK(search.step(show.mirror, true));
  CHECK(search.hit()->node == first);
  show.script.remove(second);
  show.look();
  CHECK(search.step(show.mirror));
  CHECK(search.hit()->node != second);
  CHECK(search.hit()->node != first);
  search.look_for(show.mirror, "1 2 4");
  CHECK(search.sentence().starts_with("2 of the prefix's 3 tokens are here"));
  search.look_for(show.mirror, "5 6");
  CHECK(search.sentence() == "no cached prefix begins with 5");
  CHECK(search.hit() == nullptr);
  CHECK_FALSE(search.step(show.mirror));
  search.look_for(show.mirror, "tenant");
  CHECK(search.hits() == 2);
  search.look_for(show.mirror, "absent");
  CHECK(search.sentence() == "no namespace with 'absent' has anything cached");
  search.look_for(show.mirror, "#99");
  CHECK(search.sentence() == "there is no node #99 at this moment");
  search.look_for(show.mirror, node_name(first));
  CHECK(search.hit()->node == first);

  Show without;
  without.script.add(0, 1);
  without.look();
  search.look_for(without.mirror, "1 2 3");
  CHECK(search.hits() == 0);
  CHECK(search.sentence().find("tokens: true") != std::string::npos);
}

TEST_CASE("clicks in nodes and links select, fold and go in, and Esc comes back") {
  FeedScript script(10'000);
  const auto root = script.add(0, 10), left = script.add(root, 30), right = script.add(root, 60);
  const auto below = script.add(left, 5);
  script.add(left, 4);
  std::vector<std::uint64_t> many;
  for (int i = 0; i < 300; ++i) many.push_back(script.add(right, 1));
  script.lock(below);
  App app(std::make_unique<ScriptLink>(script, script.commit()), Settings{});
  Headless screen;
  app.pump(std::chrono::milliseconds(10));
  screen.key(app, 'v');
  for (int i = 0; i < 2; ++i) screen.frame(app);
  CHECK(app.settings().tree == TreeView::nodes);
  ImVec2 at;
  const auto box = [&](std::uint64_t id) { return app.tree_panel().middle_of(app.tree(), id, at); };
  for (const auto id : {right, left, root, below}) {
    REQUIRE(box(id));
    screen.click(app, at);
    CHECK(app.selection().node == id);
  }
  REQUIRE(box(left));
  screen.right_click(app, at);
  screen.frame(app);
  CHECK(app.tree_panel().folded().contains(left));
  CHECK_FALSE(box(below));
  // Selected elsewhere, it is unfolded and seen.
  app.selection().select_node(below);
  for (int i = 0; i < 3; ++i) screen.frame(app);
  CHECK_FALSE(app.tree_panel().folded().contains(left));
  CHECK(box(below));
  // One of many for which there is no row gets one when it is selected.
  CHECK_FALSE(box(many[299]));
  app.selection().select_node(many[299]);
  for (int i = 0; i < 3; ++i) screen.frame(app);
  CHECK(box(many[299]));
  app.selection().select_node(right);
  screen.frame(app);
  screen.key(app, 'z');
  for (int i = 0; i < 2; ++i) screen.frame(app);
  CHECK_FALSE(box(root));
  CHECK(box(right));
  screen.press(app, ImGuiKey_Escape);
  screen.frame(app);
  CHECK(box(root));
  // Zoomed in, there are more rows, so fewer are in a bundle.
  const std::size_t before = app.tree_panel().nodes().items().size();
  REQUIRE(box(right));
  ImGui::GetIO().MousePos = at;
  for (int i = 0; i < 6; ++i) {
    ImGui::GetIO().MouseWheel = 1;
    screen.frame(app);
  }
  CHECK(app.tree_panel().nodes().items().size() > 2 * before);
  screen.press(app, ImGuiKey_Escape);
  CHECK(app.tree_panel().nodes().items().size() == before);
}

TEST_CASE("a prefix typed into the panel is found, shown in either view, and stepped through") {
  FeedScript script(1000);
  script.header().tokens = 1;
  const auto root = script.add(0, 1), left = script.add(root, 1), right = script.add(root, 1);
  script.words(root, numbers(1, 16));
  script.words(left, joined({50, 51}, numbers(70, 14)));
  script.words(right, joined({50, 52}, numbers(80, 14)));
  App app(std::make_unique<ScriptLink>(script, script.commit()), Settings{});
  Headless screen;
  app.pump(std::chrono::milliseconds(10));
  for (int i = 0; i < 2; ++i) screen.frame(app);
  for (const bool again : {false, true}) {
    screen.find(app, "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 50 51");
    CHECK(app.selection().node == left);
    ImVec2 at;
    CHECK(app.tree_panel().middle_of(app.tree(), left, at));
    screen.find(app, "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 50");
    REQUIRE(app.tree_panel().search().hits() == 2);
    const auto first = app.selection().node;
    screen.key(app, 'n');
    CHECK(app.selection().node != first);
    screen.press(app, ImGuiKey_Enter);
    CHECK(app.selection().node == first);
    CHECK(app.tree_panel().search().sentence().find("1 of 2") != std::string::npos);
    screen.press(app, ImGuiKey_Escape);
    CHECK(app.tree_panel().search().sentence().empty());
    CHECK(app.selection().node == first);
    if (!again) screen.key(app, 'v');
  }
}
