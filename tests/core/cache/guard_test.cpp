/// What stands between the engine and a component: what is believed, what is not, and what a component sees.
#include <cache/cache_state.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include <cache/guard/all_below.h>
#include <cache/guard/index_port.h>
#include <support/said_index.h>

using namespace canopy;
using canopy::test::SaidIndex;

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
  const auto index = std::make_shared<SaidIndex>();
  IndexPort guard(index, "prefix index 'answers' (test)", state);
  const std::vector<std::uint32_t> words(12);
  const Lock lock{NodeId{7}, 8, {}};
  for (const Units had : {0U, 4U, 8U, 12U}) {
    index->inserted = {lock, had, {}};
    CHECK(guard.insert(lock, {NamespaceId::shared, words}, {}, {}).lock.length == 8);
  }
  index->inserted = {{NodeId{3}, 4, {}}, 0, {}};  // the lock was stale
  CHECK(guard.insert(lock, {NamespaceId::shared, words}, {}, {}).lock.node == NodeId{3});
  index->inserted = {{NodeId{8}, 12, {}}, 8, {}};
  CHECK(guard.insert(lock, {NamespaceId::shared, words}, {}, {}).lock.node == NodeId{8});
  CHECK(state.ledger.violations() == 0);
  index->inserted = {{NodeId{8}, 12, {}}, 4, {}};  // it had less than the lock holds, and is deeper
  const Inserted refused = guard.insert(lock, {NamespaceId::shared, words}, {}, {});
  CHECK(refused.lock.node == NodeId{7});
  CHECK(refused.had == 8);
  REQUIRE(state.ledger.violations() == 1);
  CHECK(
      state.ledger.reports()[0] ==
      "prefix index 'answers' (test), insert: it gave a lock of 12 units from 0, 0, 0, 0 on and had 4 units, for a key "
      "of 12 below a lock of 8");
}
