#include <doctest/doctest.h>
#include <views/icicle.h>

#include <cstdio>

#include "show.h"

using namespace canopy;
using namespace canopy::inspector;
using namespace canopy::test;

TEST_CASE("the index adds up what is below a node, and puts children under their parent") {
  Show show;
  const auto root = show.script.add(0, 2);
  const auto left = show.script.add(root, 3), right = show.script.add(root, 5);
  const auto leaf = show.script.add(left, 7);
  const auto other = show.script.add(0, 1, 1);
  show.script.lock(leaf, 2);
  show.script.lock(left);
  show.look();
  CHECK(show.mirror.drift() == 0);
  CHECK(show.index.levels() == 4);
  CHECK(show.index.tokens() == 18 * 16);
  CHECK(show.at(root).tokens == 17 * 16);
  CHECK(show.at(root).nodes == 4);
  CHECK(show.at(left).tokens == 10 * 16);
  CHECK(show.at(right).start == show.at(left).end());
  CHECK(show.at(leaf).start == show.at(left).start);
  CHECK(show.at(other).start == 17 * 16);
  CHECK(show.at(leaf).locks == 2);
  CHECK(show.at(left).locks == 3);
  CHECK(show.at(root).locks == 3);
  CHECK(show.at(right).locks == 0);
  for (const auto id : {root, left, right, leaf})
    CHECK(show.at(id).locks == show.mirror.locks(*show.mirror.find(id), 0));
  CHECK(show.at(right).state == NodeState::evictable);
  CHECK(show.at(root).state == NodeState::protected_);
  const auto mix = show.index.mix(show.index.place_of(slot_of(NodeId{left})), 2);
  CHECK(mix.of(NodeState::protected_) == 3 * 16);
  CHECK(mix.of(NodeState::evictable) == 5 * 16);
  CHECK(mix.nodes == 3);
}

TEST_CASE("a folded node hides what is below it and keeps its width") {
  Show show;
  const auto root = show.script.add(0, 2), left = show.script.add(root, 3), leaf = show.script.add(left, 7);
  const auto right = show.script.add(root, 1), below_right = show.script.add(right, 1);
  show.look({left});
  CHECK(show.at(left).folded);
  CHECK(show.at(left).tokens == 10 * 16);
  CHECK(show.index.place_of(slot_of(NodeId{leaf})) == TreeIndex::kNowhere);
  CHECK(show.at(below_right).start == show.at(right).start);
  CHECK(show.index.update(show.mirror, 0, {}));
  CHECK(show.at(leaf).start == show.at(left).start);
  CHECK_FALSE(show.index.update(show.mirror, 0, {}));
}

TEST_CASE("a chain of only children is one place, until a lock ends in it, and its depth costs no stack") {
  Show show(400'000);
  std::uint64_t last = 0, middle = 0, first = 0;
  for (int i = 0; i < 300'000; ++i) {
    last = show.script.add(last, 1);
    if (i == 0) first = last;
    if (i == 99'999) middle = last;
  }
  show.look();
  CHECK(show.index.levels() == 2);
  CHECK(show.at(middle).chain == 300'000);
  CHECK(show.at(last).slot == slot_of(NodeId{first}));
  show.script.lock(last);
  show.script.lock(middle, 2);
  show.look();
  CHECK(show.index.levels() == 3);
  CHECK(show.at(first).chain == 100'000);
  CHECK(show.at(middle).locks == 3);
  CHECK(show.at(last).locks == 1);
  CHECK(show.at(last).nodes == 200'000);
  show.look({first});
  CHECK(show.at(first).chain == 1);
  CHECK(show.at(first).folded);
  CHECK(show.index.place_of(slot_of(NodeId{middle})) == TreeIndex::kNowhere);
}

TEST_CASE("a comb of 100,000 levels is indexed without recursion") {
  Show show(400'000);
  const std::uint64_t last = grow_comb(show.script, 100'000);
  show.look();
  CHECK(show.index.levels() == 100'001);
  CHECK(show.index.level_of(show.index.place_of(slot_of(NodeId{last}))) == 100'000);
}

TEST_CASE("rectangles of a row touch no other, stand for every node once, and are no more than the pixels allow") {
  for (const std::size_t nodes : {std::size_t{1000}, std::size_t{100'000}, std::size_t{1'000'000}}) {
    Show show(2 * nodes + 200);
    grow(show.script, nodes);
    const double take = seconds_of([&] { show.mirror.take(show.script.commit()); });
    const double index = seconds_of([&] { show.index.update(show.mirror, 0, {}); });
    std::vector<IcicleCell> cells;
    const IcicleWindow all{0, static_cast<double>(show.index.tokens()), 1000, 0, 16};
    const double layout = seconds_of([&] { lay_out(show.index, all, cells); });
    std::printf("%zu nodes: mirror %.1f ms, index %.1f ms, layout %.2f ms, %zu rectangles\n", nodes, take * 1e3,
                index * 1e3, layout * 1e3, cells.size());
    CHECK(show.mirror.drift() == 0);
    CHECK(cells.size() <= 4 * 1000 / static_cast<std::size_t>(kLeastNode));
    std::size_t shown = 0;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      shown += cells[i].count;
      REQUIRE(cells[i].x1 > cells[i].x0);
      if (i > 0 && cells[i].row == cells[i - 1].row) {
        REQUIRE(cells[i].first == cells[i - 1].first + cells[i - 1].count);
        REQUIRE(cells[i].x0 >= cells[i - 1].x1 - 1.01F);
      }
    }
    CHECK(shown == nodes + 1);  // and the namespace
    // The bisection finds the cell at each pixel.
    for (const IcicleCell& cell : cells)
      if (cell.x1 - cell.x0 > 2) {
        const IcicleCell* found = cell_at(cells, (cell.x0 + cell.x1) / 2, cell.row);
        REQUIRE(found != nullptr);
        REQUIRE(found->first == cell.first);
      }
    CHECK(cell_at(cells, 5, 99) == nullptr);
  }
}

TEST_CASE("zoomed in, only what is in sight is laid out") {
  Show show(40'000);
  grow(show.script, 10'000);
  show.look();
  std::vector<IcicleCell> cells;
  lay_out(show.index, {100, 420, 1000, 2, 8}, cells);
  REQUIRE_FALSE(cells.empty());
  for (const IcicleCell& cell : cells) {
    CHECK(show.index[cell.first].end() > 100);
    CHECK(show.index[cell.first].start < 420);
    CHECK(show.index.level_of(cell.first) >= 2);
  }
}
