#include <conformance/model/flat_index.h>
#include <conformance/model/random_ops.h>
#include <conformance/model/victim_order.h>
#include <program/mismatch.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

namespace {

using namespace canopy;
using namespace canopy::test;

constexpr NamespaceId kShared = NamespaceId::shared;

Chain chain(std::initializer_list<std::uint32_t> words, Units page_size = 1, Units overlap = 0,
            NamespaceId space = kShared) {
  const std::vector<std::uint32_t> copy(words);
  return chain_of({space, copy}, page_size, overlap);
}

/// A flat model with pages of one word.
struct Flat {
  explicit Flat(std::vector<Units> reaches) : index(1, std::move(reaches)) {}
  FlatIndex::Added insert(std::initializer_list<std::uint32_t> words, std::size_t below,
                          const std::vector<std::vector<Page>>& brought, NamespaceId space = kShared) {
    const std::vector<std::uint32_t> copy(words);
    FlatIndex::PerGroup<std::vector<Page>> pages;
    std::ranges::copy(brought, pages.begin());
    return index.insert({space, copy}, chain(words, 1, 0, space), below, pages);
  }
  FlatIndex index;
};

VictimOrder lru() { return VictimOrder("lru"); }

}  // namespace

TEST_CASE("a chain names whole pages only") {
  CHECK(chain({}, 4).empty());
  CHECK(chain({1, 2, 3}, 4).empty());
  CHECK(chain({1, 2, 3, 4, 5}, 4).size() == 1);
  CHECK(chain({1, 2, 3, 4}, 4, 1).empty());
  CHECK(chain({1, 2, 3, 4, 5}, 4, 1).size() == 1);
}

TEST_CASE("a page's name depends on all words before it, on its namespace and on the word it looks ahead") {
  CHECK(chain({1, 2})[1] != chain({3, 2})[1]);
  CHECK(chain({1}) != chain({1}, 1, 0, NamespaceId{1}));
  CHECK(chain({1, 2, 3}, 2, 1) != chain({1, 2, 4}, 2, 1));
  CHECK(chain({1, 2, 3}, 2) == chain({1, 2, 4}, 2));
}

TEST_CASE("the flat model says what an insert finds, and which pages are spare") {
  Flat flat({kWholePath});
  CHECK(flat.insert({1, 2, 3}, 0, {{10, 11, 12}}).had == 0);
  const auto again = flat.insert({1, 2, 4}, 1, {{20, 21}});
  CHECK(again.had == 2);
  CHECK(again.spare[0] == std::vector<Page>{20});
  CHECK(flat.index.pages(flat.index.lock(chain({1, 2, 4})), 0) == std::vector<Page>{10, 11, 21});
  CHECK(flat.index.matched(chain({1, 2, 3, 9})) == 3);
}

TEST_CASE("the flat model counts a page as protected once, however many locks cover it") {
  Flat flat({kWholePath});
  flat.insert({1, 2}, 0, {{1, 2}}, NamespaceId{2});
  const auto in_two = [](std::initializer_list<std::uint32_t> words) { return chain(words, 1, 0, NamespaceId{2}); };
  const auto shorter = flat.index.lock(in_two({1})), longer = flat.index.lock(in_two({1, 2}));
  CHECK(flat.index.sizes(0).protected_ == 2);
  CHECK_THROWS_AS(flat.index.remove(0, 2), Mismatch);
  flat.index.unlock(longer);
  CHECK(flat.index.sizes(0, NamespaceId{2}).protected_ == 1);
  CHECK(flat.index.sizes(0, NamespaceId{2}).evictable == 1);
  CHECK(flat.index.sizes(0, kShared).evictable == 0);
  flat.index.unlock(shorter);
  CHECK_THROWS_AS(flat.index.unlock(shorter), Mismatch);
}

TEST_CASE("the flat model matches up to the deepest boundary whose windows are resident") {
  Flat flat({kWholePath, 2});
  flat.insert({1, 2, 3, 4}, 0, {{1, 2, 3, 4}, {0, 0, 0, 5}});
  CHECK(flat.index.matched(chain({1, 2, 3, 4})) == 0);
  CHECK(flat.index.known(chain({1, 2, 3, 4})) == 4);
  const auto filled = flat.insert({1, 2, 3}, 0, {{11, 12, 13}, {0, 6, 7}});
  CHECK(filled.refilled == 2);
  CHECK(filled.spare[0] == std::vector<Page>{11, 12, 13});
  CHECK(flat.index.matched(chain({1, 2, 3, 9})) == 3);
  CHECK(flat.index.matched(chain({1, 2})) == 0);
}

TEST_CASE("in the flat model a lock needs one window, less when it is relaxed, and never nothing") {
  Flat flat({2});
  flat.insert({1, 2, 3, 4}, 0, {{1, 2, 3, 4}});
  auto hold = flat.index.lock(chain({1, 2, 3, 4}));
  CHECK(flat.index.sizes(0).protected_ == 2);
  CHECK(flat.index.pages(hold, 0) == std::vector<Page>{0, 0, 3, 4});
  flat.index.relax(hold, 0, 4);
  CHECK(hold.from[0] == 3);
  CHECK(flat.index.sizes(0).protected_ == 1);
  CHECK(flat.index.unlocked(chain({1, 2, 3, 4}), 0) == 1);
}

TEST_CASE("the flat model complains when a window outlives the full pages it belongs to") {
  Flat flat({kWholePath, 2});
  flat.insert({1, 2}, 0, {{1, 2}, {3, 4}});
  flat.index.remove(0, 2);
  CHECK_THROWS_AS(flat.index.check_removed(), Mismatch);
  Flat other({2, 1});
  other.insert({1, 2}, 0, {{1, 2}, {3, 4}});
  other.index.remove(0, 1);
  CHECK_THROWS_AS(other.index.check_removed(), Mismatch);
  CHECK_THROWS_AS(other.index.name_of_page(0, 1), Mismatch);
}

TEST_CASE("the flat model expects what no match can end in to leave, up to the next boundary that serves") {
  Flat flat({kWholePath, 1});
  flat.insert({1, 2, 3, 4, 5}, 0, {{1, 2, 3, 4, 5}, {0, 12, 0, 0, 15}});
  const auto hold = flat.index.lock(chain({1, 2, 3}));
  flat.index.remove(1, 15);
  CHECK_THROWS_AS(flat.index.check_removed(), Mismatch);
  for (const Page page : {4U, 5U}) flat.index.remove(0, page);
  flat.index.check_removed();
  CHECK(flat.index.sizes(0).protected_ == 3);  // the lock runs through
  flat.index.unlock(hold);
  CHECK_THROWS_AS(flat.index.check_removed(), Mismatch);
  flat.index.remove(0, 3);
  flat.index.check_removed();
  CHECK(flat.index.matched(chain({1, 2})) == 2);
  CHECK(flat.index.entries() == 2);
  flat.index.remove(1, 12);
  for (const Page page : {1U, 2U}) flat.index.remove(0, page);
  flat.index.check_removed();
  CHECK(flat.index.entries() == 0);
}

TEST_CASE("segments end where a key ended, where keys part and where a match ended") {
  VictimOrder order = lru();
  order.inserted(chain({1, 2, 3, 4, 5, 6}), 0, 0, true);
  CHECK(order.segments() == 1);
  order.inserted(chain({1, 2, 3, 4, 7}), 4, 0, true);
  CHECK(order.segments() == 3);
  order.used(chain({1, 2}), true);
  CHECK(order.segments() == 4);
  order.inserted(chain({1}), 1, 0, true);
  CHECK(order.segments() == 5);
  CHECK(order.splits() == 3);
  order.used(chain({1, 2}), true);
  CHECK(order.segments() == 5);
}

TEST_CASE("by lru the half of a segment that a match used is younger than the half it did not") {
  VictimOrder order = lru();
  order.inserted(chain({1, 2, 3, 4}), 0, 0, true);
  order.inserted(chain({5}), 0, 0, true);
  order.used(chain({1, 2}), true);
  CHECK(order.next().at(0) == std::vector{chain({1, 2, 3})[2], chain({1, 2, 3, 4})[3]});
  for (const PrefixName name : {chain({1, 2, 3, 4})[3], chain({1, 2, 3})[2]}) order.forget(name);
  CHECK(order.next().at(0) == chain({5}));
}

TEST_CASE("a prefix is as young as the latest use through it") {
  VictimOrder order = lru();
  order.inserted(chain({1}), 0, 0, true);
  order.inserted(chain({2}), 0, 0, true);
  order.inserted(chain({1, 3}), 1, 0, true);
  order.forget(chain({1, 3})[1]);
  CHECK(order.next().at(0) == chain({2}));
}

TEST_CASE("a locked segment and one with followers may not be evicted") {
  VictimOrder order = lru();
  order.inserted(chain({1, 2}), 0, 0, true);
  order.used(chain({1}), true);
  CHECK(order.leaves() == std::vector{chain({1, 2})[1]});
  order.lock(chain({1, 2}));
  CHECK(order.leaves().empty());
  order.unlock(chain({1, 2}));
  order.forget(chain({1, 2})[1]);
  CHECK(order.leaves() == chain({1}));
}

TEST_CASE("every policy with a known order has it") {
  const PageHistory old{1, 1, 9, 9, 9}, young{2, 2, 0, 0, 0};
  for (const char* name : {"lru", "fifo"}) CHECK(order_of(name)(old, young));
  for (const char* name : {"mru", "filo", "lfu", "priority", "slru"}) CHECK(order_of(name)(young, old));
  CHECK(!order_of("some other")(old, young));
  CHECK(!order_of("some other")(young, old));
}

TEST_CASE("the same seed draws the same program, and what it draws can be written and read back") {
  const Program program = random_program(7, {}, 500), again = random_program(7, {}, 500);
  for (std::size_t i = 0; i < 500; ++i) {
    const std::string text = text_of(program.operations[i]);
    CHECK(text == text_of(again.operations[i]));
    CHECK(canopy::program::operation_of(text, canopy::program::Runner::index) == program.operations[i]);
  }
  CHECK(text_of(program.config) == text_of(config_of(text_of(program.config))));
}

TEST_CASE("a failing program shrinks to the operations that matter") {
  // Fails at the second eviction that follows a flush.
  const Run run = [](const Program& program) -> std::optional<Failure> {
    bool flushed = false;
    int evictions = 0;
    for (std::size_t i = 0; i < program.operations.size(); ++i) {
      flushed |= program.operations[i].verb == Verb::flush;
      evictions += flushed && program.operations[i].verb == Verb::evict;
      if (evictions == 2) return Failure{i, "two"};
    }
    return {};
  };
  Program program = random_program(3, {}, 300);
  program.operations.insert(program.operations.begin() + 150,
                            canopy::program::operation_of("flush", canopy::program::Runner::index));
  for (const std::ptrdiff_t at : {200, 250})
    program.operations.insert(program.operations.begin() + at,
                              canopy::program::operation_of("evict 1", canopy::program::Runner::index));
  REQUIRE(run(program));
  const Program small = shrunk(program, run);
  CHECK(small.operations.size() == 3);
  CHECK(small.operations.front().verb == Verb::flush);
}
