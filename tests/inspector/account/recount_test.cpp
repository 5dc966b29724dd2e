/// Figures of what was evicted and came back, beside a count from the prompts and their hits alone: whole prompts are
/// inserted one after the other, so what a cache had ever seen is the set of all beginnings of earlier prompts. It
/// shares no code with the mirror and the history. It could not notice a wrong figure of requests that run at the same
/// time, of answers, or of tiers.
#include <account/range_figures.h>
#include <canopy/feed/reader.h>
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <support/engines.h>
#include <support/random_requests.h>

#include <array>
#include <bit>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "raw_recount.h"

using namespace canopy;
using namespace canopy::inspector;
using namespace canopy::test;

namespace {

struct Truth {
  std::uint64_t prompt = 0, hit = 0, regretted = 0, evicted = 0, never_seen = 0, without_limit = 0;
};

struct Counted {
  Truth truth;
  RangeFigures figures;
};

/// Serves random prompts that begin alike, go on otherwise and come back longer and shorter.
Counted serve(std::uint32_t page, bool has_tokens, std::uint32_t seed, const char* key = "token") {
  const auto engine =
      engine_of(fmt::format("page_size: {}\nkey: {}\nindex: radix\ngroups: {{ full: {{ reach: path, capacity: {}, "
                            "allocator: free_list, eviction: lru "
                            "}} }}\nfeed: {{ heap: {{ events: 1048576, tokens: {} }} }}\n",
                            page, key, page * 24, has_tokens));
  FeedReader reader(engine->feed()->writer().header());
  Mirror mirror(engine->feed()->writer().header());
  History history;
  Counted counted;
  Truth& truth = counted.truth;
  std::mt19937 random(seed);
  std::set<std::vector<Token>> seen;
  std::vector<Event> events(4096);
  for (int request = 0; request < 400; ++request) {
    std::vector<Token> prompt;
    for (auto pages = 2 + random() % 9; pages > 0; --pages) {
      const auto choice = static_cast<Token>(random() % 3);  // a page of one of three kinds
      prompt.insert(prompt.end(), page, prompt.empty() ? choice : choice + 10);
    }
    prompt.push_back(99);  // so that a match may return all whole pages
    const auto length = static_cast<std::uint32_t>(prompt.size());
    Request one = engine->begin(arrival(prompt));
    const std::uint32_t matched = one.matched();
    REQUIRE(one.reserve(length));
    one.commit(length);
    one.finish(length);
    truth.prompt += length, truth.hit += matched;
    for (std::uint32_t end = page; end < length; end += page) {
      const bool known = !seen.insert({prompt.begin(), prompt.begin() + end}).second;
      truth.without_limit += known ? page : 0;
      if (end <= matched) continue;
      (known ? truth.evicted : truth.never_seen) += page;
    }
    for (std::size_t count = 0;;) {
      const auto outcome = reader.read(events.data(), events.size(), count);
      REQUIRE(outcome != FeedReader::Outcome::lapped);
      if (outcome == FeedReader::Outcome::nothing) break;
      mirror.take(std::span(events).first(count), history.watch(mirror));
    }
  }
  truth.regretted = truth.evicted;  // each was computed again
  counted.figures = figures_of(history, {});
  return counted;
}

std::uint64_t missed(const RangeFigures& figures, Miss reason) {
  return figures.missed[static_cast<std::size_t>(reason)];
}

}  // namespace

TEST_CASE("recount: where a feed identifies each page, regret, misses and a pool without a limit are exact") {
  for (const auto& [page, has_tokens] : {std::pair{8U, false}, {16U, true}, {4U, true}, {2U, true}}) {
    for (std::uint32_t seed = 1; seed <= 3; ++seed) {
      CAPTURE(page);
      CAPTURE(seed);
      const auto [truth, figures] = serve(page, has_tokens, seed);
      REQUIRE(truth.evicted > 0);
      CHECK(figures.counts[Count::prompt] == truth.prompt);
      CHECK(figures.counts[Count::hit] == truth.hit);
      CHECK(figures.counts[Count::regretted] == truth.regretted);
      CHECK(missed(figures, Miss::evicted) == truth.evicted);
      CHECK(missed(figures, Miss::never_seen) == truth.never_seen);
      CHECK(truth.hit + figures.kept.back() == truth.without_limit);
      CHECK(figures.bound == Bound::none);
      CHECK(figures.kept_bound == Bound::none);
    }
  }
}

TEST_CASE("recount: words do not stand for pages whose content depends on the words behind them") {
  for (std::uint32_t seed = 1; seed <= 3; ++seed) {
    CAPTURE(seed);
    const RangeFigures words = serve(8, true, seed, "bigram").figures, none = serve(8, false, seed, "bigram").figures;
    CHECK(words.missed == none.missed);
    CHECK(words.counts == none.counts);
    CHECK(words.bound == Bound::none);
    CHECK(serve(4, true, seed, "bigram").figures.bound == Bound::about);
  }
}

TEST_CASE(
    "recount: where it does not, the figures say that they are about right, and all missed tokens have a reason") {
  for (std::uint32_t seed = 1; seed <= 3; ++seed) {
    CAPTURE(seed);
    const auto [truth, figures] = serve(4, false, seed);
    CHECK(figures.bound == Bound::about);
    CHECK(missed(figures, Miss::evicted) + missed(figures, Miss::never_seen) == truth.evicted + truth.never_seen);
    CHECK(what_if(figures, 4, "full")[6].bound == Bound::about);
  }
}

namespace {

struct RandomRun {
  const char* name;
  std::string yaml;
  bool resizes = false;
  std::size_t late = 0;   ///< the reader comes after this many operations
  std::size_t loses = 0;  ///< after this many operations, the reader loses what came since it read last
  bool flushes = true;
  bool waste = true;  ///< the recount has no tier below, and so no fetch that takes waste back
};

void compare(const RandomRun& run, std::uint32_t seed) {
  CAPTURE(run.name);
  CAPTURE(seed);
  const auto engine = engine_of(run.yaml);
  std::optional<FeedReader> reader;
  std::optional<Mirror> mirror;
  History history;
  RawRecount recount;
  RandomRequests random(*engine, plugins(), seed, 3, true, run.resizes);
  std::vector<Event> events(4096);
  const auto read = [&](bool drop) {
    for (std::size_t count = 0;;) {
      const auto outcome = reader->read(events.data(), events.size(), count);
      REQUIRE(outcome != FeedReader::Outcome::lapped);
      if (outcome == FeedReader::Outcome::nothing) break;
      if (drop) continue;
      const auto some = std::span(events).first(count);
      mirror->take(some, history.watch(*mirror));
      for (const Event& event : some) {
        const auto raw = std::bit_cast<std::array<unsigned char, RawRecount::kBytes>>(event);
        recount.take(std::span(&raw, 1));
      }
    }
    if (!drop) return;
    mirror->lost();
    recount.lost();
    reader->want_keyframe();
  };
  for (std::size_t i = 0; i < 600; ++i) {
    if (i == run.late) {
      reader.emplace(engine->feed()->writer().header());
      mirror.emplace(engine->feed()->writer().header());
    }
    random.run(1);
    if (run.flushes && i == 450) engine->flush(NamespaceId{});
    engine->poll();
    if (reader) read(run.loses != 0 && i == run.loses);
  }
  random.finish();
  engine->poll();
  read(false);
  const RangeFigures figures = figures_of(history, {});
  const auto same = [&](const Counts& counts, std::uint64_t held, const RawRecount::Sums& sums) {
    CHECK(counts[Count::requests] == sums.requests);
    CHECK(counts[Count::prompt] == sums.prompt);
    CHECK(counts[Count::hit] == sums.hit);
    CHECK(counts[Count::tries] == sums.tries);
    CHECK(counts[Count::inserted] == sums.inserted);
    CHECK(counts[Count::evicted] == sums.evicted);
    if (run.waste) CHECK(counts[Count::wasted] == sums.wasted);
    CHECK(held == sums.held);
  };
  same(figures.counts, figures.held, recount.all);
  std::size_t tenants = 0;
  for (const auto& [space, sums] : recount.spaces) tenants += !(sums == RawRecount::Sums{});
  CHECK(figures.tenants.size() == tenants);
  for (const TenantFigures& tenant : figures.tenants) {
    CAPTURE(tenant.name);
    const RawRecount::Sums& sums = recount.spaces[static_cast<std::uint32_t>(history.tenants()[tenant.row].space)];
    same(tenant.counts, tenant.held, sums);
    CHECK(tenant.locked_us == sums.locked_us);
  }
  const auto cause = [&](EvictionCause of) { return figures.evicted[static_cast<std::size_t>(of)]; };
  CHECK(cause(EvictionCause::room) == recount.room);
  CHECK(cause(EvictionCause::limit) == recount.limit);
  CHECK(cause(EvictionCause::flush) == recount.flush);
  CHECK(cause(EvictionCause::other) == recount.other);
  std::uint64_t missed = 0;
  for (const std::uint64_t tokens : figures.missed) missed += tokens;
  CHECK(missed == recount.all.prompt - recount.all.hit);
  CHECK(figures.paid.size() == recount.paid.size());
  for (const PaidTokens& each : figures.paid) {
    const auto space = [&](std::uint32_t row) { return static_cast<std::uint32_t>(history.tenants()[row].space); };
    CHECK(each.tokens == recount.paid[{space(each.from), space(each.taker)}]);
  }
  CHECK(recount.all.requests > 20);
  CHECK(recount.all.evicted > 0);
  CHECK(recount.keyframes == (run.loses != 0 ? 2 : 1));
}

}  // namespace

TEST_CASE("recount: the account equals a count of the raw events, over tenants, windows, losses and late readers") {
  const std::string feed = "feed: { heap: { events: 65536 } }\n";
  const std::string one =
      "page_size: 4\nindex: radix\ngroups: { full: { reach: path, capacity: 300, allocator: "
      "free_list, eviction: lru } }\n" +
      feed;
  const std::string windows(kTwoGroups);
  std::string sglang(windows);
  sglang.replace(sglang.find("index: radix"), 12, "index: { radix: { accounting: sglang } }");
  for (std::uint32_t seed = 1; seed <= 6; ++seed) {
    compare({.name = "one group", .yaml = one}, seed);
    compare({.name = "windows", .yaml = windows, .resizes = true}, seed);
    compare({.name = "as sglang", .yaml = sglang, .resizes = true}, seed);
    compare({.name = "late", .yaml = windows, .late = 200}, seed);
    compare({.name = "lost", .yaml = windows, .loses = 300}, seed);
  }
}

TEST_CASE("recount: what a fetch brings back from the host is a hit, and neither waste nor regret") {
  const auto engine = engine_of(
      "page_size: 4\nindex: radix\n"
      "groups: { full: { reach: path, capacity: 48, allocator: free_list, eviction: lru } }\n"
      "store: { host: { streams: { kv: 8 } } }\ntiers: { host: { capacity: 200, latency: 40us } }\n"
      "feed: { heap: { events: 65536, tokens: true } }\n");
  FeedReader reader(engine->feed()->writer().header());
  Mirror mirror(engine->feed()->writer().header());
  History history;
  std::uint64_t now = 0;
  for (int round = 0; round < 3; ++round)
    for (const Token first : {1U, 1'001U}) {  // one of the two fits into the pool
      std::vector<Token> prompt(41);
      for (std::size_t i = 0; i < prompt.size(); ++i) prompt[i] = first + static_cast<Token>(i);
      Fetch fetch = engine->tiers().fetch(arrival(prompt));
      for (int i = 0; i < 16 && !fetch.done(); ++i) engine->turn(now += 200);
      Request request = engine->begin(arrival(prompt), std::move(fetch));
      CHECK(request.matched() == (round == 0 ? 0 : 40));
      REQUIRE(request.reserve(41));
      request.finish(41);
      for (int i = 0; i < 4; ++i) engine->turn(now += 200);
    }
  engine->poll();
  std::vector<Event> events(4096);
  for (std::size_t count = 0; reader.read(events.data(), events.size(), count) == FeedReader::Outcome::events;)
    mirror.take(std::span(events).first(count), history.watch(mirror));
  const RangeFigures figures = figures_of(history, {});
  CHECK(figures.counts[Count::hit] == 4 * 40);
  CHECK(figures.counts[Count::evicted] > 0);
  CHECK(figures.counts[Count::regretted] == 0);
  CHECK(figures.counts[Count::wasted] == 0);
}

TEST_CASE("recount: what a flush took and what was evicted before it are two reasons of one miss") {
  const auto engine = engine_of(
      "page_size: 8\nindex: radix\n"
      "groups: { full: { reach: path, capacity: 64, allocator: free_list, eviction: lru } }\n"
      "feed: { heap: { events: 65536 } }\n");
  FeedReader reader(engine->feed()->writer().header());
  Mirror mirror(engine->feed()->writer().header());
  History history;
  const auto serve = [&](Token first, std::uint32_t length) {
    std::vector<Token> prompt(length);
    for (std::size_t i = 0; i < prompt.size(); ++i) prompt[i] = first + static_cast<Token>(i);
    Request request = engine->begin(arrival(prompt));
    REQUIRE(request.reserve(length));
    request.finish(length);
  };
  serve(1, 17), serve(1, 33);  // a node of two pages, and one below it
  serve(1, 17);                // the first one is the newer
  serve(1'001, 41);            // needs the pages of the second
  REQUIRE(engine->counters().evicted_tokens == 16);
  engine->flush(NamespaceId{});
  serve(1, 33);
  engine->poll();
  std::vector<Event> events(4096);
  for (std::size_t count = 0; reader.read(events.data(), events.size(), count) == FeedReader::Outcome::events;)
    mirror.take(std::span(events).first(count), history.watch(mirror));
  const RangeFigures figures = figures_of(history, {});
  CHECK(figures.missed[kFlushedReason] == 16);
  CHECK(missed(figures, Miss::evicted) == 16);
}
