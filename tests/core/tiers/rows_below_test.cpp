/// The rows that come back from below are those of the prompt that asked for them, whatever the index of the engine
/// that put them there, and of the one that reads them.
#include <canopy/base/random.h>
#include <replay/content.h>

#include <string>
#include <utility>

#include "by_hand.h"

using namespace canopy;
using namespace canopy::test;

namespace {

/// An engine whose requests write the rows of their tokens, and compare those that they reuse.
struct Life {
  std::unique_ptr<Engine> engine;
  replay::Content content{*engine};
  std::uint64_t now = 0;

  void compute(const std::vector<Token>& prompt, bool fetches) {
    Fetch fetch;
    if (fetches) fetch = engine->tiers().fetch(arrival(prompt));
    for (int turns = 0; fetches && turns < 6 && !fetch.done(); ++turns) engine->turn(now += 100);
    Request request = engine->begin(arrival(prompt), std::move(fetch));
    const std::uint32_t size = static_cast<std::uint32_t>(prompt.size()), matched = request.matched();
    replay::Trail trail(NamespaceId::shared);
    trail.follow(prompt);
    content.check(request, trail, 0, matched);
    REQUIRE(request.reserve(size));
    content.write(request, trail, matched, size);
    request.finish(size);
  }
  void check() {
    engine->audit();
    CHECK_MESSAGE(engine->ledger().violations() == 0,
                  (engine->ledger().reports().empty() ? "" : engine->ledger().reports()[0]));
    CHECK_MESSAGE(content.violations() == 0, (content.reports().empty() ? "" : content.reports()[0]));
  }
};

}  // namespace

TEST_CASE(
    "rows below: what is brought up is the prompt's own, whatever index put it down and whatever index reads it") {
  for (const char* const index : {"radix", "hash_chain"})
    for (const char* const reader : {"radix", "hash_chain"})
      for (const char* const write : {"on_evict", "through"})
        for (const char* const copies : {"write_back", "write_through"}) {
          CAPTURE(index);
          CAPTURE(reader);
          CAPTURE(write);
          CAPTURE(copies);
          const auto changes = [&](const char* name) {
            return std::vector<std::string>{std::string("index=") + name,
                                            std::string("tiers.host.write=") + copies,
                                            "tiers.host.latency=100us",
                                            "tiers.host.capacity=96",
                                            std::string("tiers.storage.write=") + write,
                                            "tiers.storage.in={ by_hand: { at_once: true } }"};
          };
          Random random(7);
          std::vector<std::vector<Token>> prompts;
          for (Token first = 0; first < 12; ++first) prompts.push_back(tokens(1000 * first, 9 + 4 * random.below(4)));
          std::map<std::array<std::uint64_t, 4>, std::vector<std::byte>> kept;
          {
            Life life{stored_engine(changes(index))};
            for (int i = 0; i < 300; ++i) {
              auto prompt = prompts[random.below(12)];
              for (Token more = 0; i % 3 == 0 && more < 8; ++more)
                prompt.push_back(50'000 + 100 * random.below(3) + more);
              life.compute(prompt, i % 2 == 0);
              if (random.below(2) == 0) life.engine->make_free(0, random.below(2) ? 16 : 4);
              life.engine->turn(life.now += random.below(4) * 60);
            }
            life.check();
            CHECK(life.engine->tiers().counters()[Counter::loaded_tokens_host] > 400);
            CHECK(life.engine->tiers().counters()[Counter::written_tokens_storage] > 100);
            kept = ByHand::last->kept;
          }
          Life life{stored_engine(changes(reader))};
          ByHand::last->kept = kept;
          for (const auto& prompt : prompts) life.compute(prompt, true);
          life.check();
          CHECK(life.engine->tiers().counters()[Counter::loaded_tokens_storage] > 40);
          CHECK(life.engine->tiers().counters()[Counter::damaged_records_storage] == 0);
        }
}
