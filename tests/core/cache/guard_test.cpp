/// The ports between the engine and a component: the results that they accept and refuse, and what a component sees.
#include <cache/cache_state.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include <cache/guard/all_below.h>
#include <cache/guard/index_port.h>
#include <support/scripted_index.h>

using namespace canopy;
using canopy::test::ScriptedIndex;

namespace {

/// Nodes from the deepest to the root.
class Nodes final : public Path {
 public:
  explicit Nodes(std::vector<NodeFacts> nodes) : nodes_(std::move(nodes)) {}
  bool next(NodeFacts& facts) override {
    if (at_ == nodes_.size()) return false;
    facts = nodes_[at_++];
    return true;
  }

 private:
  std::vector<NodeFacts> nodes_;
  std::size_t at_ = 0;
};

}  // namespace

TEST_CASE("guards: page numbers are below an end or one of them is not, wherever it stands, up to the highest number") {
  constexpr Page kHalf = Page{1} << 31;
  for (const Page end : {Page{1}, Page{2}, Page{4'000}, kHalf - 1, kHalf, kHalf + 1, kHalf + 2, ~Page{0} - 1, ~Page{0}})
    for (const std::size_t count : {1U, 4U, 15U, 16U, 17U, 35U}) {
      CAPTURE(end);
      CAPTURE(count);
      std::vector<Page> pages(count, end - 1);
      CHECK(all_below(pages, end));
      for (Page& page : pages) {
        for (const Page above : {end, std::max(end, kHalf), std::max(end, ~Page{0})}) {
          page = above;
          REQUIRE_FALSE(all_below(pages, end));
        }
        page = 0;
        REQUIRE(all_below(pages, end));
      }
    }
  CHECK(all_below({}, 1));
}

TEST_CASE(
    "guards: an index may insert nothing and keep the lock, and a deeper lock must begin where the old one ended") {
  CacheState state;
  state.page_size = 4;
  const auto index = std::make_shared<ScriptedIndex>();
  IndexPort guard(index, "prefix index 'answers' (test)", state);
  const std::vector<std::uint32_t> words(12);
  const Lock lock{LockId{7}, {}, 8};
  for (const Units had : {0U, 4U, 8U, 12U}) {
    index->inserted = {lock, had, {}};
    CHECK(guard.insert(lock, {NamespaceId::shared, words}, {}, {}).lock.length == 8);
  }
  index->inserted = {{LockId{8}, {}, 12}, 8, {}};
  CHECK(guard.insert(lock, {NamespaceId::shared, words}, {}, {}).lock.id == LockId{8});
  CHECK(state.ledger.violations() == 0);
  index->inserted = {{LockId{8}, {}, 12}, 4, {}};  // it had less than the lock holds, and is deeper
  const Inserted refused = guard.insert(lock, {NamespaceId::shared, words}, {}, {});
  CHECK(refused.lock.id == LockId{7});
  CHECK(refused.had == 8);
  REQUIRE(state.ledger.violations() == 1);
  CHECK(
      state.ledger.reports()[0] ==
      "prefix index 'answers' (test), insert: it gave a lock of 12 units from 0, 0, 0, 0 on and had 4 units, for a key "
      "of 12 below a lock of 8");
  index->inserted = {{LockId{3}, {}, 4}, 8, {}};  // it is shallower than the lock that it was given
  CHECK(guard.insert(lock, {NamespaceId::shared, words}, {}, {}).lock.id == LockId{7});
  CHECK(state.ledger.violations() == 2);
}

TEST_CASE("guards: a tier that does not take a leaving node does not stop the eviction, and that is said") {
  struct Refuses final : LeavingVisitor {
    void leaving(const Leaving&) override { throw std::bad_alloc(); }
  } refuses;
  struct Leaves final : ScriptedIndex {
    GroupPages evict(std::size_t, std::size_t, Cause, LeavingVisitor* visitor) override {
      const std::vector<std::uint32_t> words(4);
      for (int node = 0; node < 2; ++node) visitor->leaving({.facts = {}, .words = words, .pages = {}}), ++left;
      return {};
    }
    int left = 0;
  };
  CacheState state;
  state.page_size = 4;
  const auto index = std::make_shared<Leaves>();
  IndexPort guard(index, "prefix index 'answers' (test)", state);
  guard.evict(0, 2, Cause::room, &refuses);
  CHECK(index->left == 2);
  CHECK_FALSE(guard.has_thrown());
  REQUIRE(state.ledger.violations() == 1);
  CHECK(state.ledger.reports()[0] == "a node of 1 pages is evicted, and not copied down: std::bad_alloc");
}
