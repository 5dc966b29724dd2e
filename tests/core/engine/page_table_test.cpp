#include <canopy/engine/page_table.h>

#include <support/engines.h>

using namespace canopy;
using namespace canopy::test;

TEST_CASE("page table: rows of a batch as kernels take them") {
  const auto engine = engine_of(
      "page_size: 4\n"
      "groups:\n"
      "  full: { reach: path, capacity: 4000, allocator: free_list, eviction: lru }\n"
      "  window: { reach: 10, capacity: 400, allocator: free_list, eviction: lru }\n");
  const auto one = tokens(1, 30), two = tokens(500, 5);
  Request first = engine->begin(arrival(one)), second = engine->begin(arrival(two));
  REQUIRE(first.reserve(30));
  REQUIRE(second.reserve(5));
  first.advance(30);
  const Request* const batch[] = {&first, &second};
  PageTable table;
  REQUIRE(table.fill(*engine, batch, PageTable::Entry::page));
  CHECK(table.rows() == 2);
  CHECK(table.width() == 8);
  CHECK(table.entries().size() == 16);
  for (std::size_t i = 0; i < 8; ++i) {
    CHECK(static_cast<Page>(table.row(0)[i]) == first.row()[i]);
    CHECK(static_cast<Page>(table.row(1)[i]) == (i < 2 ? second.row()[i] : 0));
  }
  REQUIRE(table.fill(*engine, batch, PageTable::Entry::slot, 1));
  CHECK(table.width() == 32);
  CHECK(table.row(0)[0] == 0);  // gone: boundary 28 needs tokens from 18 on
  CHECK(table.row(0)[15] == 0);
  for (std::size_t token = 16; token < 32; ++token)
    CHECK(static_cast<Page>(table.row(0)[token]) == first.row(1)[token / 4] * 4 + token % 4);
  REQUIRE(table.fill(*engine, {}, PageTable::Entry::page));
  CHECK(table.entries().empty());
}

TEST_CASE("page table: more slots than an int32 can number are refused with a sentence") {
  const auto engine = engine_of(
      "page_size: 65536\n"
      "groups: { full: { reach: path, capacity: unlimited, allocator: free_list, eviction: lru } }\n");
  const auto prompt = tokens(1, 5);
  Request request = engine->begin(arrival(prompt));
  const Request* const batch[] = {&request};
  PageTable table;
  REQUIRE(request.reserve(65536));
  CHECK(table.fill(*engine, batch, PageTable::Entry::slot));
  REQUIRE(request.reserve(32768U * 65536U));  // page 32768 begins at slot 2^31
  CHECK(table.fill(*engine, batch, PageTable::Entry::page));
  CHECK_FALSE(table.fill(*engine, batch, PageTable::Entry::slot));
  CHECK(table.entries().empty());
}
