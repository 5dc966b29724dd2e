/// The order of eviction, played forward, beside what an engine evicts.
#include <canopy/feed/reader.h>
#include <doctest/doctest.h>
#include <mirror/eviction_order.h>
#include <support/engines.h>

#include <random>
#include <set>
#include <string>
#include <vector>

using namespace canopy;
using namespace canopy::inspector;
using namespace canopy::test;

namespace {

/// Nodes that leave, in order.
struct Leaving final : MirrorWatcher {
  std::vector<std::uint64_t> ids;
  void left(const MirrorNode& node, std::size_t group, Operation) override {
    if (group == 0) ids.push_back(node.id);
  }
};

struct Compared {
  std::size_t nodes = 0, parents = 0;  ///< nodes that left as foretold; those of them that were no leaves before
};

/// Conversations in a pool that is too small. Before each operation the order is foretold; what the operation evicts is
/// its beginning.
Compared compare(const std::string& policy) {
  const auto engine = engine_of(
      "page_size: 4\nindex: radix\ngroups: { full: { reach: path, capacity: 1200, allocator: free_list, eviction: " +
      policy + " } }\nfeed: { heap: { events: 65536 } }\n");
  FeedReader reader(engine->feed()->writer().header());
  Mirror mirror(engine->feed()->writer().header());
  Compared compared;
  std::vector<Event> pending, part(65536);
  const auto look = [&] {
    std::size_t count = 0;
    while (reader.read(part.data(), part.size(), count) == FeedReader::Outcome::events)
      for (std::size_t i = 0; i < count; ++i) {
        pending.push_back(part[i]);
        if (!is<event::Commit>(part[i])) continue;
        const EvictionOrder order =
            mirror.in_step() && mirror.groups() > 0 ? eviction_order(mirror, 0, 1000) : EvictionOrder{};
        std::vector<std::uint64_t> foretold;
        std::set<std::uint64_t> leaves;
        for (const EvictionOrder::Place& place : order.nodes) {
          foretold.push_back(mirror.node(place.slot).id);
          if (mirror.node(place.slot).children == 0) leaves.insert(foretold.back());
        }
        Leaving leaving;
        mirror.take(pending, &leaving);
        pending.clear();
        for (std::size_t k = 0; k < std::min(leaving.ids.size(), foretold.size()); ++k) {
          REQUIRE(leaving.ids[k] == foretold[k]);
          ++compared.nodes, compared.parents += !leaves.contains(foretold[k]);
        }
        if (!order.ends_early && order.nodes.size() < 1000) REQUIRE(leaving.ids.size() <= foretold.size());
      }
  };
  engine->poll();
  look();
  std::mt19937 random(7);
  std::vector<std::vector<Token>> chats(24);
  for (std::uint32_t i = 0; i < chats.size(); ++i) chats[i] = tokens(i * 1000, 24);
  for (std::uint32_t turn = 0; turn < 400; ++turn) {
    std::vector<Token>& chat = chats[random() % chats.size()];
    if (chat.size() > 200) chat.resize(24);
    for (std::uint32_t k = 0; k < 12 + turn % 9; ++k) chat.push_back(50'000 + turn * 40 + k);
    RequestSpec spec;
    spec.prompt = chat, spec.min_uncached = 1;
    Request request = engine->begin(spec);
    if (request.reserve(static_cast<std::uint32_t>(chat.size())))
      request.finish(static_cast<std::uint32_t>(chat.size()));
    else request.abort();
    engine->poll();
    look();
  }
  return compared;
}

}  // namespace

TEST_CASE("mirror: nodes are evicted in the order that is foretold, parents after their last child") {
  for (const char* policy : {"lru", "mru", "fifo", "lfu", "priority"}) {
    CAPTURE(policy);
    const Compared compared = compare(policy);
    CHECK(compared.nodes > 100);
    CHECK(compared.parents > 0);
  }
}

TEST_CASE("mirror: where only the policy knows the rank of a parent, the foretold order ends before it") {
  const Compared compared = compare("slru");
  CHECK(compared.nodes > 100);
  CHECK(compared.parents == 0);
}
