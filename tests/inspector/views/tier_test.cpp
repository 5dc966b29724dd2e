/// The tree of the tier below: shown in the place of the pools', and compared with it.
#include <canopy/feed/reader.h>
#include <doctest/doctest.h>
#include <support/engines.h>
#include <views/tier_shares.h>

#include <numeric>

#include "ink.h"
#include "show.h"

using namespace canopy;
using namespace canopy::inspector;
using namespace canopy::test;

namespace {

/// An engine whose pools have room for two prompts, and a tier that has what left them.
struct Tiered {
  std::unique_ptr<Engine> engine = engine_of(
      "page_size: 16\ngroups: { full: { capacity: 384, allocator: free_list, eviction: lru } }\n"
      "tiers: { host: { capacity: 16000 } }\nfeed: { heap: { events: 65536, tokens: true } }\n");
  FeedReader reader{engine->feed()->writer().header()};
  std::uint64_t now = 0;

  Tiered() { engine->poll(); }
  static std::vector<Token> prompt(Token first) {
    std::vector<Token> tokens(161);
    std::iota(tokens.begin(), tokens.end(), first);
    return tokens;
  }
  void serve(Token first) {
    const std::vector<Token> tokens = prompt(first);
    Fetch fetch = engine->tiers().fetch(arrival(tokens));
    engine->turn(now += 1000);
    Request request = engine->begin(arrival(tokens), std::move(fetch));
    REQUIRE(request.reserve(161));
    request.finish(160);
    engine->turn(now += 1000);
  }
  /// Returns the events since the last call, up to an operation that reports all sums.
  std::vector<Event> events() {
    for (int i = 0; i < 14; ++i) engine->begin(arrival(std::vector<Token>{9'999'999})).abort();
    std::vector<Event> all(65536);
    std::size_t count = 0;
    REQUIRE(reader.read(all.data(), all.size(), count) == FeedReader::Outcome::events);
    all.resize(count);
    return all;
  }
  /// The node in which a prompt's first token lies.
  static const MirrorNode* begins(const Mirror& mirror, Token first) {
    const MirrorNode* found = nullptr;
    mirror.each_node([&](const MirrorNode& node) {
      if (node.begin == 0 && !node.words.empty() && node.words[0] == first) found = &node;
    });
    return found;
  }
};

/// A tier and a storage that have been busy for long: each figure has many digits.
void fill_tiers(FeedScript& script) {
  constexpr std::uint64_t kMany = 123'456'789, kBytes = std::uint64_t{987} << 40;
  script.say(TextKind::storage, 0, "a_storage_of_a_long_name");
  for_each_value([&](Counter counter, const CounterInfo& info, std::size_t row, std::size_t column) {
    const std::uint64_t pages = counter == Counter::limit_pages_host ? 2 * kMany : kMany;
    const std::uint64_t value = info.unit == CounterUnit::bytes || info.unit == CounterUnit::bytes_per_s ? kBytes
                                : info.unit == CounterUnit::us                                           ? 1'000'000
                                : info.unit == CounterUnit::pages                                        ? pages
                                                                                                         : kMany;
    script.push(event::CounterValue{.counter = counter,
                                    .row = static_cast<std::uint8_t>(row),
                                    .column = static_cast<std::uint8_t>(column),
                                    .value = value});
  });
  script.push(event::StorageHealth{.state = StorageState::open, .until_us = 2'400'000});
}

}  // namespace

TEST_CASE("tiers: the tiers that have a prefix are found by the words, and not at all without them") {
  Tiered tiered;
  for (const Token first : {1000U, 2000U, 3000U}) tiered.serve(first);  // the first one leaves
  tiered.serve(1000);                                                   // and comes back: the second leaves
  Mirror mirror(tiered.engine->feed()->writer().header());
  mirror.take(tiered.events());
  REQUIRE(mirror.below());
  const Mirror& below = *mirror.below();
  TierShares pools, host;
  pools.update(mirror, &below, 0);
  host.update(below, &mirror, 0);
  REQUIRE(pools.known());
  const auto share = [](const TierShares& shares, const Mirror& of, Token first) {
    const MirrorNode* node = Tiered::begins(of, first);
    REQUIRE(node);
    return shares.of(slot_of(NodeId{node->id}));
  };
  CHECK(share(pools, mirror, 1000) == 1);
  CHECK(share(pools, mirror, 3000) == 0);
  CHECK(share(host, below, 1000) == 1);
  CHECK(share(host, below, 2000) == 0);
  CHECK_FALSE(Tiered::begins(mirror, 2000));
  CHECK_FALSE(Tiered::begins(below, 3000));
  pools.update(mirror, nullptr, 0);
  CHECK_FALSE(pools.known());
}

TEST_CASE("tiers: the tree of the tier takes the place of the pools', and the other panels go on showing the pools") {
  Stage stage;
  stage.script.header().tokens = 1;
  stage.open();
  App& app = *stage.app;
  CHECK_FALSE(app.mirror().below());
  app.selection().show_tier(true);
  stage.draw();
  CHECK_FALSE(app.selection().tier);  // there is no such tier yet

  Tiered other;
  for (const Token first : {1000U, 2000U, 3000U, 1000U}) other.serve(first);
  auto made = std::make_unique<ScriptLink>(stage.script, other.events());
  App tier_app(std::move(made), Settings{});
  tier_app.pump(std::chrono::milliseconds(10));
  const auto draw = [&] {
    for (int i = 0; i < 3; ++i) stage.screen.frame(tier_app);
  };
  draw();
  REQUIRE(tier_app.mirror().below());
  const MirrorNode* const node = Tiered::begins(tier_app.mirror(), 3000);
  REQUIRE(node);
  tier_app.selection().select_node(node->id);
  tier_app.selection().show_tier(true);
  tier_app.selection().colour = ColourBy::tier;
  draw();
  CHECK(&tier_app.shown() == tier_app.mirror().below());
  CHECK(tier_app.tree().tokens() == 320);  // the first two prompts
  CHECK(Tiered::begins(tier_app.shown(), 2000));
  CHECK_FALSE(Tiered::begins(tier_app.shown(), 3000));
  // A request of the pools that is chosen brings their tree back, with its node.
  const MirrorRequest& request = tier_app.mirror().requests().back();
  tier_app.selection().select_request(request);
  draw();
  CHECK_FALSE(tier_app.selection().tier);
  CHECK(&tier_app.shown() == &tier_app.mirror());
  // All panels with the tier's figures, each in full.
  tier_app.show_panel('7');
  draw();
}

TEST_CASE("tiers: the panel's rows of host and storage can be read at every size, in the panel's own place and alone") {
  for (const auto& [width, height] : {std::pair(960.F, 600.F), {1280.F, 720.F}, {1920.F, 1080.F}}) {
    Stage shown(width, height);
    shown.script.add(0, 40);
    fill_tiers(shown.script);
    shown.open();
    for (const bool alone : {false, true}) {
      CAPTURE(width);
      CAPTURE(alone);
      if (alone) shown.app->show_panel('7');
      shown.draw();
      const Ink ink;
      CHECK(ink.overprinted() == std::vector<std::string>{});
      CHECK(ink.cut() == std::vector<std::string>{});
      if (!alone) continue;
      for (const char* words : {"on the host", "host store", "host load", "storage find", "storage get", "storage put",
                                "host fetches", "not called for another 1.4 s", "hit 123,456,789 tokens"})
        CHECK_MESSAGE(ink.has(words), words);
    }
  }
}
