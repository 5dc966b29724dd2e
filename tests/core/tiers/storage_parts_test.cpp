/// Windows and states above a storage: what is put of them, what is asked for, and where a prefix ends.
#include <canopy/base/random.h>
#include <tiers/storage_reader.h>

#include "by_hand.h"

using namespace canopy;
using namespace canopy::test;

namespace {

/// An engine of stored_engine() with a second group. Nothing stays in its host tier.
std::unique_ptr<Engine> with_part(
    const std::string& reach, const std::vector<std::string>& more = {},
    const Tune& tune = [](EngineConfig& config) { config.storage_tier.kept_free_percent = 100; }) {
  std::vector<std::string> changes = {"groups.part.reach=" + reach, "groups.part.capacity=64",
                                      "groups.part.allocator=free_list", "groups.part.eviction=lru"};
  changes.insert(changes.end(), more.begin(), more.end());
  return stored_engine(changes, tune);
}
ByHand& shelf(std::size_t group) { return *ByHand::of_groups[group]; }
void end_all(char kind) {
  for (ByHand* storage : ByHand::of_groups) storage->end(kind);
}
/// Leaves a prompt, and evicts it to the storage alone.
std::vector<Token> leave_in_storage(Engine& engine, std::vector<Token> prompt, std::uint64_t now) {
  leave(engine, prompt);
  engine.make_free(0, 16);
  for (int turns = 0; turns < 3; ++turns) {
    engine.turn(now + static_cast<std::uint64_t>(turns));
    end_all('p');
  }
  engine.turn(now + 3);
  return prompt;
}
/// The keys of the calls of a kind that are pending in a group.
std::size_t keys_in(std::size_t group, char kind) {
  std::size_t keys = 0;
  for (const ByHand::Call& call : shelf(group).begun) keys += call.kind == kind ? call.keys.size() : 0;
  return keys;
}
std::uint32_t begin_after(Engine& engine, const std::vector<Token>& prompt, Fetch fetch, std::uint64_t now) {
  for (int turns = 0; turns < 8 && !fetch.done(); ++turns) {
    for (const char kind : {'f', 'e', 'g'}) end_all(kind);
    engine.turn(now + static_cast<std::uint64_t>(turns));
  }
  REQUIRE(fetch.done());
  return engine.begin(arrival(prompt), std::move(fetch)).matched();
}

}  // namespace

TEST_CASE("storage of a window: of the window only what the boundary needs is read") {
  const auto engine = with_part("10");
  const auto prompt = leave_in_storage(*engine, tokens(100, 41), 1);
  REQUIRE(in_host(*engine) == 0);
  CHECK(shelf(0).kept.size() == 10);
  CHECK(shelf(1).kept.size() == 10);
  Fetch fetch = engine->tiers().fetch(arrival(prompt));
  CHECK(keys_in(0, 'f') == 10);
  CHECK(shelf(1).begun.empty());  // until it is known how much there is of whole paths
  shelf(0).end('f');
  engine->turn(10);
  CHECK(keys_in(1, 'e') == 10);
  shelf(1).end('e');
  engine->turn(11);
  CHECK(keys_in(0, 'g') == 10);
  CHECK(keys_in(1, 'g') == 3);
  CHECK(state_of(*engine).below->moving[0] == 10);
  CHECK(state_of(*engine).below->moving[1] == 3);
  end_all('g');
  engine->turn(12);
  CHECK(engine->tiers().counters()[Counter::loaded_tokens_storage] == 40);
  CHECK(begin_after(*engine, prompt, std::move(fetch), 13) == 40);
  CHECK(engine->tiers().counters()[Counter::hit_tokens_storage] == 40);
  CHECK(brings(*engine, BringOutcome::whole) == 1);
  end_all('p');
  engine->turn(20);
  check_settled(*engine);
}

TEST_CASE("storage of a window: a boundary that the storage cannot serve is not used, and a nearer one is") {
  const auto engine = with_part("10");
  const auto prompt = leave_in_storage(*engine, tokens(100, 41), 1);
  REQUIRE(shelf(1).kept.size() == 10);
  // The seventh of the ten pages of the window, in the order of the path, is gone.
  Fetch looks = engine->tiers().fetch(arrival(prompt));
  shelf(0).end('f');
  engine->turn(10);
  REQUIRE(shelf(1).begun.size() == 1);
  shelf(1).kept.erase(shelf(1).begun[0].keys[6].bits);
  shelf(1).end('e');
  engine->turn(11);
  CHECK(keys_in(0, 'g') == 10);                         // the last three are there
  shelf(1).kept.erase(shelf(1).begun[0].keys[0].bits);  // and now the first of these is gone as well
  end_all('g');
  engine->turn(12);
  CHECK(looks.done());
  CHECK(in_host(*engine) == 0);
  CHECK(brings(*engine, BringOutcome::gone) == 1);
  looks = Fetch();
  Fetch fetch = engine->tiers().fetch(arrival(prompt));
  shelf(0).end('f');
  engine->turn(13);
  shelf(1).end('e');
  engine->turn(14);
  CHECK(keys_in(0, 'g') == 6);
  CHECK(keys_in(1, 'g') == 3);
  CHECK(begin_after(*engine, prompt, std::move(fetch), 15) == 24);
  end_all('p');
  engine->turn(30);
  check_settled(*engine);
}

TEST_CASE("storage of a window: a record that arrives damaged shortens the prefix to a boundary, if one is left") {
  for (const auto& [reach, matched] : {std::pair{"10", 0U}, {"40", 28U}}) {
    CAPTURE(reach);
    const auto engine = with_part(reach);
    const auto prompt = leave_in_storage(*engine, tokens(100, 41), 1);
    Fetch fetch = engine->tiers().fetch(arrival(prompt));
    shelf(0).end('f');
    engine->turn(10);
    shelf(1).end('e');
    engine->turn(11);
    REQUIRE(shelf(0).begun.size() == 3);  // calls of four records at most
    shelf(0).kept[shelf(0).begun[1].keys[3].bits][4096] ^= std::byte{1};
    CHECK(begin_after(*engine, prompt, std::move(fetch), 12) == matched);
    CHECK(engine->tiers().counters()[Counter::loaded_tokens_storage] == matched);
    CHECK(brings(*engine, BringOutcome::damaged) == 1);
    end_all('p');
    engine->turn(30);
    CHECK(state_of(*engine).below->moving[1] == 0);
    check_settled(*engine);
  }
}

TEST_CASE("storage of states: the deepest state that is there is read, and only the places of states are asked for") {
  const auto engine = with_part("1", {"groups.part.every=8"});
  const auto prompt = leave_in_storage(*engine, tokens(100, 45), 1);
  REQUIRE(in_host(*engine) == 0);
  CHECK(shelf(0).kept.size() == 10);  // a page behind the last state serves no boundary
  CHECK(shelf(1).kept.size() == 5);
  Fetch fetch = engine->tiers().fetch(arrival(prompt));
  shelf(0).end('f');
  engine->turn(10);
  REQUIRE(keys_in(1, 'e') == 5);
  const auto keys = shelf(1).begun[0].keys;
  shelf(1).kept.erase(keys[4].bits);
  shelf(1).kept.erase(keys[1].bits);
  shelf(1).end('e');
  engine->turn(11);
  CHECK(keys_in(0, 'g') == 8);
  CHECK(keys_in(1, 'g') == 1);
  CHECK(begin_after(*engine, prompt, std::move(fetch), 12) == 32);
  end_all('p');
  engine->turn(30);
  check_settled(*engine);
}

TEST_CASE("storage of a window: a read is joined only by fetches that its boundary serves") {
  const auto engine = with_part("10");
  const auto prompt = leave_in_storage(*engine, tokens(100, 41), 1);
  auto other = prompt, longer = prompt;
  other[30] = 7;
  longer.push_back(8);
  Fetch one = engine->tiers().fetch(arrival(prompt));
  const Fetch two = engine->tiers().fetch(arrival(other)), three = engine->tiers().fetch(arrival(longer));
  CHECK(brings(*engine, BringOutcome::joined) == 1);
  const Fetch same = engine->tiers().fetch(arrival(prompt));
  CHECK(engine->tiers().counters().at(Counter::fetches, FetchOutcome::joined) == 1);
  CHECK(shelf(0).begun.size() == 2);
  CHECK(begin_after(*engine, prompt, std::move(one), 10) == 40);
  CHECK(three.done());
  end_all('p');
  engine->turn(30);
}

TEST_CASE("storage of states: a shorter prompt does not wait for the boundary of a longer one") {
  const auto engine = with_part("1", {"groups.part.every=8"}, [](EngineConfig& config) {
    config.storage_tier.kept_free_percent = config.storage_tier.gets_percent = 100;
  });
  const auto prompt = leave_in_storage(*engine, tokens(100, 25), 1);
  REQUIRE(in_host(*engine) == 0);
  auto shorter = prompt;
  shorter.resize(17);
  const Fetch one = engine->tiers().fetch(arrival(prompt));
  Fetch two = engine->tiers().fetch(arrival(shorter));
  CHECK(engine->tiers().counters().at(Counter::fetches, FetchOutcome::joined) == 0);
  CHECK(shelf(0).begun.size() == 2);
  CHECK(begin_after(*engine, shorter, std::move(two), 10) == 16);
  end_all('p');
  engine->turn(30);
}

TEST_CASE("storage of states: a state that left the host tier alone is put alone, and comes back alone") {
  for (const bool leaves : {false, true}) {  // true: the path leaves the host tier meanwhile
    CAPTURE(leaves);
    // A host tier of 24 pages, and of nine states, of which five are kept free.
    const auto engine = with_part("1", {"groups.part.every=8", "groups.part.capacity=24", "tiers.host.capacity=96"},
                                  [](EngineConfig& config) { config.storage_tier.kept_free_percent = 50; });
    const auto prompt = tokens(100, 41);
    leave(*engine, prompt);
    engine->make_free(0, 16);
    engine->turn(1);
    CHECK(in_host(*engine) == 40);
    CHECK(keys_in(0, 'p') == 0);
    REQUIRE(keys_in(1, 'p') == 1);
    CHECK(state_of(*engine).below->moving[1] == 1);
    end_all('p');
    engine->turn(2);
    // Another prompt, which has the first three pages in common: none of them ends in a state that the host tier has.
    auto other = prompt;
    other.resize(22);
    for (std::size_t i = 12; i < other.size(); ++i) other[i] += 1000;
    Fetch fetch = engine->tiers().fetch(arrival(other));
    CHECK(keys_in(0, 'f') == 2);
    shelf(0).end('f');
    engine->turn(3);
    CHECK(keys_in(1, 'e') == 1);
    shelf(1).end('e');
    engine->turn(4);
    CHECK(keys_in(0, 'g') == 0);
    REQUIRE(keys_in(1, 'g') == 1);
    std::uint64_t now = 5;
    for (const Token first : {2000U, 3000U, 4000U}) {
      if (leaves) leave(*engine, tokens(first, 41));
      engine->make_free(0, 16);
      engine->turn(now++);
      end_all('p');
    }
    end_all('g');
    engine->turn(now);
    CHECK(brings(*engine, leaves ? BringOutcome::gone : BringOutcome::whole) == 1);
    CHECK(engine->tiers().counters()[Counter::loaded_tokens_storage] == 0);  // the tokens are the host tier's
    CHECK(begin_after(*engine, other, std::move(fetch), now + 1) == (leaves ? 0 : 8));
    CHECK(engine->tiers().counters()[Counter::hit_tokens_host] == (leaves ? 0 : 8));
    end_all('p');
    engine->turn(30);
    check_settled(*engine);
  }
}

TEST_CASE("storage of a window that is written through: what it has of a window is not put again") {
  const auto engine =
      with_part("16", {"tiers.storage.write=through", "tiers.host.write=write_through", "tiers.host.capacity=64"});
  auto prompt = tokens(100, 17);
  leave(*engine, prompt);
  engine->turn(1);
  CHECK(keys_in(0, 'p') == 4);
  CHECK(keys_in(1, 'p') == 4);
  end_all('p');
  engine->turn(2);
  for (Token more = 0; more < 8; ++more) prompt.push_back(more);
  leave(*engine, prompt);
  engine->turn(3);
  CHECK(keys_in(0, 'p') == 2);
  CHECK(keys_in(1, 'p') == 2);
  end_all('p');
  engine->turn(4);
  CHECK(shelf(1).kept.size() == 6);
  check_settled(*engine);
}

TEST_CASE(
    "storage of a window: two prompts whose boundary is the same are served by one read, though both have asked") {
  const auto engine = with_part("10");
  const auto document = leave_in_storage(*engine, tokens(100, 33), 1);
  REQUIRE(in_host(*engine) == 0);
  auto one = document, other = document;
  for (Token more = 0; more < 9; ++more) one.push_back(900 + more), other.push_back(950 + more);
  Fetch first = engine->tiers().fetch(arrival(one)), second = engine->tiers().fetch(arrival(other));
  CHECK(keys_in(0, 'f') == 20);
  shelf(0).end('f');
  engine->turn(10);
  CHECK(keys_in(1, 'e') == 16);
  shelf(1).end('e');
  engine->turn(11);
  CHECK(keys_in(0, 'g') == 8);
  CHECK(keys_in(1, 'g') == 3);
  CHECK(brings(*engine, BringOutcome::joined) == 1);
  CHECK_FALSE(second.done());
  CHECK(begin_after(*engine, other, std::move(second), 12) == 32);
  CHECK(first.done());
  CHECK(engine->begin(arrival(one), std::move(first)).matched() == 32);
  CHECK(brings(*engine, BringOutcome::whole) == 1);
  end_all('p');
  engine->turn(30);
  check_settled(*engine);
}

TEST_CASE("storage of states that is written through: what a copy brings is put once, with the state at its end") {
  const auto engine = with_part("1", {"groups.part.every=8", "tiers.storage.write=through",
                                      "tiers.host.write=write_through", "tiers.host.capacity=64"});
  auto prompt = tokens(100, 17);
  leave(*engine, prompt);
  engine->turn(1);
  CHECK(keys_in(0, 'p') == 4);
  CHECK(keys_in(1, 'p') == 1);
  CHECK(state_of(*engine).below->moving[1] == 0);
  end_all('p');
  engine->turn(2);
  for (Token more = 0; more < 8; ++more) prompt.push_back(more);
  leave(*engine, prompt);
  engine->turn(3);
  CHECK(keys_in(0, 'p') == 2);
  CHECK(keys_in(1, 'p') == 1);
  end_all('p');
  engine->turn(4);
  CHECK(shelf(0).kept.size() == 6);
  CHECK(shelf(1).kept.size() == 2);
  check_settled(*engine);
}

TEST_CASE("what a read needs: the deepest boundary is that of a search through all of them") {
  Random random(11);
  std::uint64_t found = 0;
  for (int i = 0; i < 20'000; ++i) {
    CacheState host;
    host.page_size = 1 + random.below(4);
    const std::size_t groups = 1 + random.below(kMaxGroups);
    for (std::size_t g = 0; g < groups; ++g)
      host.groups.push_back({"", random.one_in(2) ? kWholePath : 1 + random.below(12), "", nullptr});
    StorageRead read;
    read.first = random.below(6);
    read.end = read.first + random.below(12);
    read.whole = read.first + random.below(static_cast<std::uint32_t>(read.end - read.first + 1));
    std::array<std::array<bool, 20>, kMaxGroups> has{};
    for (auto& pages : has)
      for (bool& page : pages) page = !random.one_in(4);
    std::size_t best = read.first;
    for (std::size_t end = read.first + 1; end <= read.end; ++end) {
      bool usable = true;
      for (std::size_t g = 0; g < groups; ++g)
        for (std::size_t page = read.first; page < end; ++page) {
          const bool whole = host.groups[g].reach == kWholePath;
          const bool needs = whole ? page >= read.whole : (end - page - 1) * host.page_size < host.groups[g].reach;
          usable &= !needs || has[g][page];
        }
      if (usable) best = end;
    }
    const std::size_t boundary =
        ReadNeeds(host).boundary(read, [&](std::size_t group, std::size_t page) { return has[group][page]; });
    REQUIRE(boundary == best);
    found += boundary > read.first && boundary < read.end;
  }
  CHECK(found > 1000);
}
