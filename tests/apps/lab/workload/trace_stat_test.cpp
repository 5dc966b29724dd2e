#include <doctest/doctest.h>
#include <workload/trace_stat.h>

#include <algorithm>
#include <set>

namespace {

using namespace canopy;
using namespace canopy::workload;

TraceRecord of(std::uint64_t time_ms, std::vector<Token> tokens, std::string space = {}) {
  TraceRecord record;
  record.time_ms = time_ms;
  record.tokens = std::move(tokens);
  record.space = std::move(space);
  return record;
}

std::uint64_t all(const std::vector<Bar>& bars, std::uint64_t Bar::* what) {
  std::uint64_t sum = 0;
  for (const Bar& bar : bars) sum += bar.*what;
  return sum;
}

/// The bar that holds `value`.
const Bar& bar_at(const std::vector<Bar>& bars, std::uint64_t value) {
  for (const Bar& bar : bars)
    if (bar.from <= value && (bar.to == 0 || value < bar.to)) return bar;
  REQUIRE(false);
  return bars[0];
}

}  // namespace

TEST_CASE("what is distinct, what is reused, when and how deep") {
  TraceStat stat(2);
  stat.add(of(0, {1, 2, 3, 4, 5}));
  stat.add(of(15'000, {1, 2, 3, 4, 6, 7}));       // four tokens again, 15 s later
  stat.add(of(15'000, {9, 9, 3, 4}));             // 3, 4 behind something else are others
  stat.add(of(95'000, {1, 2, 3, 4, 5}));          // all again: the rest of one token as well
  stat.add(of(95'000, {1, 2, 3, 4, 5}, "else"));  // a namespace of its own
  const TraceFacts facts = stat.facts();
  CHECK(facts.requests == 5);
  CHECK(facts.prompt_tokens == 25);
  CHECK(facts.span_ms == 95'000);
  CHECK(facts.longest_prompt == 6);
  CHECK(facts.reused_tokens == 4 + 5);
  CHECK(facts.distinct_tokens == 5 + 2 + 4 + 5);
  CHECK(facts.distinct_tokens + facts.reused_tokens == facts.prompt_tokens);
  CHECK(facts.resent_requests == 1);
  CHECK(all(facts.gaps_ms, &Bar::tokens) == 9);
  CHECK(bar_at(facts.gaps_ms, 15'000).tokens == 4);
  CHECK(bar_at(facts.gaps_ms, 80'000).tokens == 5);  // 1 to 2 min: four after 80 s, one after 95 s
  CHECK(all(facts.depths, &Bar::tokens) == 25);
  CHECK(all(facts.depths, &Bar::count) == 9);
  CHECK(all(facts.uses, &Bar::tokens) == facts.distinct_tokens);
  CHECK(bar_at(facts.uses, 3).tokens == 4);
  CHECK(all(facts.prompts, &Bar::count) == 5);
  REQUIRE(facts.tenants.size() == 2);
  CHECK(facts.tenants.at("").reused_tokens == 9);
  CHECK(facts.tenants.at("else").prompt_tokens == 5);
}

TEST_CASE("turns follow from the prompts where the file has none") {
  TraceStat stat(1);
  stat.add(of(0, {1, 2}));
  stat.add(of(1, {1, 2, 3, 4}));        // goes on with it
  stat.add(of(2, {1, 2, 3, 4}));        // the same again is the same turn
  stat.add(of(3, {1, 2, 3, 4, 5, 6}));  // and so on
  stat.add(of(4, {1}));                 // ends in what all have: no conversation of its own
  stat.add(of(5, {1, 7}));
  const TraceFacts facts = stat.facts();
  CHECK(!facts.turns_given);
  CHECK(bar_at(facts.turns, 1).count == 3);
  CHECK(bar_at(facts.turns, 2).count == 2);
  CHECK(bar_at(facts.turns, 3).count == 1);

  TraceStat with_turns(1);
  TraceRecord record = of(0, {1});
  record.turn = 7;
  with_turns.add(record);
  CHECK(with_turns.facts().turns_given);
  CHECK(bar_at(with_turns.facts().turns, 7).count == 1);
}

TEST_CASE("prompts of ids are compared id by id, however many there are") {
  TraceStat stat(16);
  TraceRecord record;
  record.block = 512;
  for (std::uint64_t i = 0; i < 5000; ++i) {
    record.ids = {7, 100 + i, 9};
    record.input_tokens = 1030;
    record.time_ms = i;
    stat.add(record);
  }
  const TraceFacts facts = stat.facts();
  CHECK(facts.unit == 512);
  CHECK(facts.distinct_tokens == 512 + 5000 * 518);
  CHECK(facts.reused_tokens == 4999 * 512);
}

TEST_CASE("lifetimes, popularity, and the working set over time") {
  TraceStat stat(1);
  stat.add(of(0, {1, 2}));
  stat.add(of(5'000, {1, 3}));
  stat.add(of(1'000'000, {1}));  // more than the window later
  stat.add(of(1'000'500, {4, 5, 6, 7, 8, 9}));
  const TraceFacts facts = stat.facts();
  REQUIRE(facts.distinct_tokens == 9);
  CHECK(facts.window_ms == 600'064);  // ten minutes
  CHECK(all(facts.lifetimes, &Bar::tokens) == 1);
  CHECK(bar_at(facts.lifetimes, 1'000'000).tokens == 1);
  REQUIRE(!facts.popular.empty());
  // One of nine is in three of the prompts: of a thousandth it is a part.
  CHECK(facts.popular.front().prompt_share == doctest::Approx(0.009 * 3 / 11));
  CHECK(facts.popular.back().prompt_share == doctest::Approx(1));
  REQUIRE(facts.moments.size() > 100);
  CHECK(facts.moments.size() <= 240);
  const auto at = [&](std::uint64_t ms) {
    for (const TraceFacts::Moment& moment : facts.moments)
      if (moment.ms > ms) return moment;
    return facts.moments.back();
  };
  CHECK(at(0).working_tokens == 2);
  CHECK(at(5'000).working_tokens == 3);
  CHECK(at(300'000).working_tokens == 3);
  CHECK(at(900'000).working_tokens == 0);  // all were used before the last ten minutes
  CHECK(at(900'000).distinct_tokens == 3);
  CHECK(facts.moments.back().working_tokens == 7);
  CHECK(facts.moments.back().requests == 4);
  CHECK(facts.moments.back().reused_tokens == 2);
  for (std::size_t i = 1; i < facts.moments.size(); ++i)
    CHECK(facts.moments[i].ms - facts.moments[i - 1].ms == facts.moments[0].ms);
}

TEST_CASE("the working set of a trace equals a count by hand, however its buckets were merged") {
  TraceStat stat(1);
  std::vector<std::pair<std::uint64_t, Token>> uses;
  for (std::uint64_t i = 0; i < 3000; ++i) {
    const Token token = static_cast<Token>(i * 7919 % 400 + i / 20);
    uses.emplace_back(i * i, token);
    stat.add(of(i * i, {token}));
  }
  const TraceFacts facts = stat.facts();
  std::size_t checked = 0;
  for (const TraceFacts::Moment& moment : facts.moments) {
    std::set<Token> all;
    for (const auto& [ms, token] : uses)
      if (ms < moment.ms && ms + facts.window_ms >= moment.ms) all.insert(token);
    CHECK(moment.working_tokens == all.size());
    checked += !all.empty();
  }
  CHECK(checked > 100);
}

TEST_CASE("the new tokens in between are those of other prompts, without what the last user brought itself") {
  constexpr std::uint32_t kMany = 70'000;  // more than the first bar
  const auto many = [](Token first) {
    std::vector<Token> tokens(kMany);
    for (std::uint32_t i = 0; i < kMany; ++i) tokens[i] = first + i;
    return tokens;
  };
  TraceStat stat(16);
  for (const std::uint64_t ms : {std::uint64_t{0}, std::uint64_t{1000}, std::uint64_t{2000}}) stat.add(of(ms, many(1)));
  const TraceFacts same = stat.facts();
  CHECK(bar_at(same.gaps_tokens, 0).tokens == 2 * kMany);
  CHECK(all(same.gaps_tokens, &Bar::tokens) == 2 * kMany);
  stat.add(of(3000, many(1'000'000)));
  stat.add(of(4000, many(1)));
  const TraceFacts apart = stat.facts();
  CHECK(bar_at(apart.gaps_tokens, kMany).tokens == kMany);
}

TEST_CASE("the most tokens of a working set are counted at each request, not at sampled moments") {
  TraceStat stat(1);
  std::vector<std::pair<std::uint64_t, Token>> uses;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    const Token token = static_cast<Token>(i * 7919 % 97 + i * i % 301);
    uses.emplace_back(i * (i % 13 < 6 ? 900 : 2700), token);
  }
  std::sort(uses.begin(), uses.end());
  for (const auto& [ms, token] : uses) stat.add(of(ms, {token}));
  std::size_t most = 0;
  for (std::size_t now = 0; now < uses.size(); ++now) {
    std::set<Token> all;
    for (std::size_t i = 0; i <= now; ++i)
      if (uses[i].first + 600'000 >= uses[now].first) all.insert(uses[i].second);
    most = std::max(most, all.size());
  }
  const TraceFacts facts = stat.facts();
  CHECK(facts.working_window_ms == 600'000);
  CHECK(facts.working_most == most);
}

TEST_CASE("a tenth of the distinct tokens is a tenth, not the units until a tenth is passed") {
  TraceStat stat(16);
  TraceRecord record;
  record.block = 16;
  record.input_tokens = 32;
  for (const std::uint64_t last : {std::uint64_t{2}, std::uint64_t{3}}) {
    record.ids = {1, last};
    stat.add(record);
  }
  const TraceFacts facts = stat.facts();
  for (const TraceFacts::Popular& popular : facts.popular)
    if (popular.distinct_share == 0.1) CHECK(popular.prompt_share == doctest::Approx(2 * 4.8 / 64));
  CHECK(facts.popular.back().prompt_share == doctest::Approx(1));
}
