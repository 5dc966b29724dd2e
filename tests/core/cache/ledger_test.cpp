#include <canopy/engine/ledger.h>

#include <doctest/doctest.h>
using namespace canopy;

TEST_CASE("one page hidden from any of its sources, or counted twice, trips the ledger") {
  struct Books {
    std::uint64_t free, evictable, protected_, owned, moving = 0;
  };
  const auto violations = [&](Books books) {
    Ledger ledger;
    ledger.check("full", {100, books.free}, {books.evictable * 16, books.protected_ * 16}, 16, books.owned,
                 books.moving, "a test");
    return ledger.violations();
  };
  const Books right{10, 40, 30, 15, 5};
  CHECK(violations(right) == 0);
  for (const std::uint64_t off : {~std::uint64_t{0}, std::uint64_t{1}}) {
    CHECK(violations({right.free + off, right.evictable, right.protected_, right.owned, right.moving}) == 1);
    CHECK(violations({right.free, right.evictable + off, right.protected_, right.owned, right.moving}) == 1);
    CHECK(violations({right.free, right.evictable, right.protected_ + off, right.owned, right.moving}) == 1);
    CHECK(violations({right.free, right.evictable, right.protected_, right.owned + off, right.moving}) == 1);
    CHECK(violations({right.free, right.evictable, right.protected_, right.owned, right.moving + off}) == 1);
  }
}

TEST_CASE("sizes that are no whole pages trip the ledger even if they add up") {
  Ledger ledger;
  ledger.check("full", {10, 8}, {17, 15}, 16, 0, 0, "a test");
  CHECK(ledger.violations() == 1);
}

TEST_CASE("a violation says which group, which operation and how many pages") {
  Ledger ledger;
  ledger.check("window", {10, 5}, {32, 16}, 16, 1, 0, "insert");
  REQUIRE(ledger.reports().size() == 1);
  CHECK(ledger.reports()[0] ==
        "group 'window' after insert: free 5 + evictable 2 + protected 1 + owned 1 = 9 pages, but the pool has 10: 1 "
        "have no owner");
}

TEST_CASE("the first eight violations keep their sentences, of which each is cut between two characters") {
  Ledger upper, ledger;
  ledger.report_to(upper, "host tier: ");
  const std::string aligned(Ledger::kMostBytes - 2, 'x');
  for (const std::string& text :
       {aligned + "yz", aligned + "yz, and more", aligned + "\xC3\xA4", aligned + "y\xC3\xA4"})
    ledger.violated(text);
  for (int i = 0; i < 6; ++i) ledger.violated("another");
  CHECK(ledger.violations() == 10);
  REQUIRE(ledger.reports().size() == Ledger::kReports);
  CHECK(ledger.reports()[0] == aligned + "yz");
  CHECK(ledger.reports()[1] == aligned + "yz");
  CHECK(ledger.reports()[2] == aligned + "\xC3\xA4");
  CHECK(ledger.reports()[3] == aligned + "y");
  CHECK(upper.violations() == 10);
  CHECK(upper.reports()[0] == "host tier: " + aligned.substr(0, Ledger::kMostBytes - 11));
  CHECK(upper.reports()[4] == "host tier: another");
}
