#include <canopy/base/nearest_name.h>
#include <doctest/doctest.h>

#include <string>
#include <vector>

TEST_CASE("names: one slip in three letters is near") {
  const std::vector<std::string> known = {"clock", "fifo", "lfu", "lru", "priority", "slru"};
  CHECK(canopy::nearest_name("slur", known) == "slru");  // neighbours swapped
  CHECK(canopy::nearest_name("lruu", known) == "lru");   // one too many
  CHECK(canopy::nearest_name("fio", known) == "fifo");   // one missing
  CHECK(canopy::nearest_name("priorty", known) == "priority");
  CHECK(canopy::nearest_name("LRU", known) == "lru");
  CHECK(canopy::nearest_name("lrx", known) == "lru");
  CHECK(canopy::nearest_name("hazard", known).empty());
  CHECK(canopy::nearest_name("", known).empty());
  CHECK(canopy::nearest_name("a", std::vector<std::string>{"b"}).empty());
  CHECK(canopy::nearest_name(std::string(1 << 20, 'x'), known).empty());
  CHECK(canopy::did_you_mean("x", {}) == "\n  known here: none");
}
