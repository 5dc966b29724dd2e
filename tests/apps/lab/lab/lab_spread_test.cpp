/// Intervals of a comparison: between seeds, and of one trace from its own stretches.
#include <canopy/base/random.h>
#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include <lab/spread.h>

using namespace canopy;
using namespace canopy::lab;

TEST_CASE("the interval of a mean is Student's") {
  const Interval five = mean_of(std::vector<double>{1, 2, 3, 4, 5});
  CHECK(five.mean == doctest::Approx(3));
  CHECK(five.high - five.mean == doctest::Approx(2.776445 * std::sqrt(2.5 / 5)));  // t(0.975) of 4 degrees of freedom
  CHECK(five.mean - five.low == doctest::Approx(five.high - five.mean));
  const Interval two = mean_of(std::vector<double>{0, 1});
  CHECK(two.high == doctest::Approx(0.5 + 12.7062 * 0.5));
  const Interval equal = mean_of(std::vector<double>{7, 7, 7});
  CHECK(equal.low == 7);
  CHECK(equal.high == 7);
}

TEST_CASE("a bootstrap of independent stretches is as wide as theory says, and the same each time") {
  constexpr std::size_t kCount = 50;
  Random random(3);
  std::vector<double> values;
  double mean = 0, squares = 0;
  for (std::size_t i = 0; i < kCount; ++i) values.push_back(random.below(1000));
  for (const double value : values) mean += value / kCount;
  for (const double value : values) squares += (value - mean) * (value - mean);
  const auto figure = [&](std::span<const std::uint32_t> times) {
    double sum = 0;
    for (std::size_t i = 0; i < kCount; ++i) sum += times[i] * values[i];
    return sum / kCount;
  };
  const Interval found = bootstrap(kCount, figure), again = bootstrap(kCount, figure);
  CHECK(found.mean == doctest::Approx(mean));
  CHECK((found.high - found.low) / 2 == doctest::Approx(1.96 * std::sqrt(squares / kCount / kCount)).epsilon(0.1));
  CHECK(found.low == again.low);
  CHECK(found.high == again.high);
}

namespace {

Row row_of(const char* policy, std::uint64_t tokens, std::uint64_t prompt, std::uint64_t seed) {
  Row row;
  row.policy = policy;
  row.capacity_tokens = 100;
  row.hit_tokens = tokens;
  row.hit_rate = static_cast<double>(tokens) / static_cast<double>(prompt);
  row.seed = seed;
  row.digest = seed;
  row.slices = {{"turn", "turn 1", 1, prompt, tokens, tokens}};
  if (seed == 2) row.slices.push_back({"turn", "turn 2", 1, 5, 1, 1});
  row.slices.push_back({"answer", "short", 1, prompt, tokens, tokens});
  return row;
}

Comparison comparison_of(std::uint64_t seed, std::uint64_t lru, std::uint64_t other) {
  Comparison one;
  one.policies = {"lru", "other"};
  one.capacities = {100};
  one.prompt_tokens = 1000 * seed;
  one.infinite_tokens = 600 * seed;
  one.distinct_tokens = 400 * seed;
  one.requests = 10;
  one.seeds = {seed};
  one.rows = {row_of("lru", lru, one.prompt_tokens, seed), row_of("other", other, one.prompt_tokens, seed)};
  one.slices = one.rows.front().slices;
  return one;
}

}  // namespace

TEST_CASE("comparisons of several seeds become one: sums of tokens, means of rates, gains by seed") {
  std::vector<Comparison> all{comparison_of(1, 100, 110), comparison_of(2, 400, 480)};
  const Comparison sum = merged(std::move(all));
  CHECK(sum.seeds == std::vector<std::uint64_t>{1, 2});
  CHECK(sum.prompt_tokens == 3000);
  CHECK(sum.infinite_tokens == 1800);
  CHECK(sum.distinct_tokens == 1200);
  const Row &lru = sum.rows[0], &other = sum.rows[1];
  CHECK(other.hit_tokens == 590);
  CHECK(other.hit_rate == doctest::Approx((0.11 + 0.24) / 2));
  REQUIRE(other.gain);
  CHECK(other.gain->mean == doctest::Approx(0.15));  // mean of 10 % and 20 %, however large each seed is
  CHECK_FALSE(lru.gain);
  REQUIRE(lru.spread);
  REQUIRE(other.by_seed.size() == 2);
  CHECK(other.by_seed[1].digest == 2);
  // A class that only one seed has stays with its kind.
  REQUIRE(other.slices.size() == 3);
  CHECK(other.slices[1].name == "turn 2");
  CHECK(other.slices[2].kind == "answer");
  CHECK(other.slices[0].hit_tokens == 590);
}

TEST_CASE("of several seeds, Jain's index is the mean of theirs, and regret is known if each has it") {
  const auto of = [](std::uint64_t seed, double jain, bool known) {
    Comparison one = comparison_of(seed, 100, 100);
    for (Row& row : one.rows) {
      row.slices = {{"namespace", "a", 1, 100, 50, 50}, {"namespace", "b", 1, 100, 10 * seed, 50}};
      row.fairness = Fairness{jain, 0.25 * static_cast<double>(seed), "b", 0.1};
      if (known) row.regret = Regret{7, {}, {}, {}};
    }
    one.slices = one.rows.front().slices;
    return one;
  };
  const Comparison sum = merged({of(1, 0.5, true), of(2, 0.9, true)}),
                   unknown = merged({of(1, 1, true), of(2, 1, false)});
  REQUIRE(sum.rows[0].fairness);
  CHECK(sum.rows[0].fairness->jain == doctest::Approx(0.7));
  CHECK(sum.rows[0].fairness->mean_hit_rate == doctest::Approx(0.375));
  CHECK(sum.rows[0].fairness->worst == "b");
  REQUIRE(sum.rows[0].regret);
  CHECK(sum.rows[0].regret->tokens == 14);
  CHECK_FALSE(unknown.rows[0].regret);
}

TEST_CASE("a first policy without a hit has no gains beside it") {
  const Comparison sum = merged({comparison_of(1, 0, 110), comparison_of(2, 400, 480)});
  CHECK_FALSE(sum.rows[1].gain);
  CHECK(sum.rows[1].spread);
}

TEST_CASE("a gain of one seed's stretches does not stay where seeds have none") {
  std::vector<Comparison> all{comparison_of(1, 100, 110), comparison_of(2, 0, 480)};
  all[0].rows[1].gain = Interval{0.1, 0.05, 0.15};
  CHECK_FALSE(merged(std::move(all)).rows[1].gain);
}

TEST_CASE("a first policy whose hits lie in one stretch has no gains beside it: it may have none") {
  Comparison one = comparison_of(1, 1000, 50'000);
  one.requests = 600;
  for (std::size_t i = 0; i < kStretches; ++i) {
    one.rows[0].stretch_tokens.push_back(i == 7 ? 1000 : 0);
    one.rows[1].stretch_tokens.push_back(1000);
  }
  add_intervals(one);
  CHECK_FALSE(one.rows[1].gain);
}

TEST_CASE("one trace has gains with intervals from its stretches, unless it has too few requests") {
  Comparison one = comparison_of(1, 0, 0);
  one.requests = 600;
  Random random(5);
  for (Row& row : one.rows) {
    row.hit_tokens = 0;
    for (std::size_t i = 0; i < kStretches; ++i) row.stretch_tokens.push_back(1000 + random.below(200));
    for (const std::uint64_t tokens : row.stretch_tokens) row.hit_tokens += tokens;
  }
  Comparison few = one;
  few.requests = 60;
  add_intervals(few);
  CHECK_FALSE(few.rows[1].gain);
  CHECK(few.intervals.empty());
  add_intervals(one);
  const auto& gain = one.rows[1].gain;
  REQUIRE(gain);
  CHECK(gain->mean ==
        doctest::Approx(static_cast<double>(one.rows[1].hit_tokens) / static_cast<double>(one.rows[0].hit_tokens) - 1));
  CHECK(gain->low < gain->mean);
  CHECK(gain->mean < gain->high);
  CHECK(gain->high - gain->low < 0.1);
  CHECK(one.intervals == "95 % by a block bootstrap of 50 stretches of 12 requests");
}
