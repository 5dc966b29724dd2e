#include <conformance/model/flat_index.h>
#include <conformance/model/mismatch.h>
#include <conformance/model/random_ops.h>
#include <conformance/model/victim_order.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>

namespace {

using namespace canopy;
using namespace canopy::test;

constexpr NamespaceId kShared = NamespaceId::shared;

Chain chain(std::initializer_list<std::uint32_t> words, Units page_size = 1, Units overlap = 0,
            NamespaceId space = kShared) {
  const std::vector<std::uint32_t> copy(words);
  return chain_of({space, copy}, page_size, overlap);
}

VictimOrder lru() { return VictimOrder(order_of("lru")); }

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

TEST_CASE("the flat model says what an insert finds, and which pages it does not need") {
  FlatIndex flat;
  CHECK(flat.insert(kShared, chain({1, 2, 3}), 0, std::array<Page, 3>{10, 11, 12}).had == 0);
  const auto again = flat.insert(kShared, chain({1, 2, 4}), 1, std::array<Page, 2>{20, 21});
  CHECK(again.had == 2);
  CHECK(again.spare == std::vector<Page>{20});
  CHECK(flat.pages(chain({1, 2, 4})) == std::vector<Page>{10, 11, 21});
  CHECK(flat.matched(chain({1, 2, 3, 9})) == 3);
}

TEST_CASE("the flat model counts a page as protected once, however many locks cover it") {
  FlatIndex flat;
  flat.insert(NamespaceId{2}, chain({1, 2}), 0, std::array<Page, 2>{1, 2});
  flat.lock(ChainView(chain({1, 2})).first(1));
  flat.lock(chain({1, 2}));
  CHECK(flat.sizes().protected_ == 2);
  flat.unlock(chain({1, 2}));
  CHECK(flat.sizes(NamespaceId{2}).protected_ == 1);
  CHECK(flat.sizes(NamespaceId{2}).evictable == 1);
  CHECK(flat.sizes(kShared).evictable == 0);
  flat.unlock(ChainView(chain({1, 2})).first(1));
  CHECK_THROWS_AS(flat.unlock(ChainView(chain({1, 2})).first(1)), Mismatch);
}

TEST_CASE("segments end where a key ended, where keys part and where a match ended") {
  VictimOrder order = lru();
  order.inserted(chain({1, 2, 3, 4, 5, 6}), 0, 0, true);
  CHECK(order.segments() == 1);
  order.inserted(chain({1, 2, 3, 4, 7}), 4, 0, true);
  CHECK(order.segments() == 3);
  order.matched(chain({1, 2}));
  CHECK(order.segments() == 4);
  order.inserted(chain({1}), 1, 0, true);
  CHECK(order.segments() == 5);
  CHECK(order.splits() == 3);
  order.matched(chain({1, 2}));
  CHECK(order.segments() == 5);
}

TEST_CASE("by lru the half of a segment that a match used is younger than the half it did not") {
  VictimOrder order = lru();
  order.inserted(chain({1, 2, 3, 4}), 0, 0, true);
  order.inserted(chain({5}), 0, 0, true);
  order.matched(chain({1, 2}));
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

TEST_CASE("a locked segment and one with followers may not leave") {
  VictimOrder order = lru();
  order.inserted(chain({1, 2}), 0, 0, true);
  order.matched(chain({1}));
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
    CHECK(text == text_of(operation_from(text)));
  }
  CHECK(text_of(program.config) == text_of(config_from(text_of(program.config))));
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
                            test::Operation{Verb::flush, {}, {}, {}, 0, 0, false, false, {}});
  for (const std::ptrdiff_t at : {200, 250})
    program.operations.insert(program.operations.begin() + at,
                              test::Operation{Verb::evict, {}, {}, {}, 1, 0, false, false, {}});
  REQUIRE(run(program));
  const Program small = shrunk(program, run);
  CHECK(small.operations.size() == 3);
  CHECK(small.operations.front().verb == Verb::flush);
}
