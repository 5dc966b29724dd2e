#include <hazard/curves.h>
#include <hazard/lives.h>
#include <hazard/prefix_history.h>
#include <hazard/work_clock.h>

#include <canopy/base/random.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>

using namespace canopy;
using namespace canopy::hazard;

TEST_CASE("hazard: each age is in the bin between whose edges it lies") {
  Random random(1);
  const auto slow = [](double age) {
    return static_cast<std::size_t>(std::upper_bound(kBinEdges.begin(), kBinEdges.end(), age) - kBinEdges.begin()) - 1;
  };
  for (const double edge : kBinEdges)
    for (const double age : {std::nextafter(edge, 0.0), edge, std::nextafter(edge, 1e9)}) {
      CAPTURE(age);
      CHECK(bin_of(age) == std::min(slow(age), kBins));
    }
  for (int i = 0; i < 100'000; ++i) {
    const double age = random.below(10'000'000) / 1000.0;
    REQUIRE(bin_of(age) == std::min(slow(age), kBins));
  }
  CHECK(bin_of(1e300) == kBins);
}

TEST_CASE("hazard: a class differs with what it was made of, and is below the number of classes") {
  std::set<std::size_t> all;
  for (std::uint32_t count : {1U, 2U, 5U, 6U})
    for (std::uint32_t fresh : {0U, 640U, 1280U, 3072U, 8192U})
      for (std::uint32_t answer : {127U, 128U})
        for (std::uint64_t hints : {std::uint64_t{0}, hint::kSessionEnded, hint::kToolCallPending, hint::of_class(7),
                                    hint::kSessionEnded | hint::of_class(3)}) {
          const std::size_t k = class_of({count, fresh, answer, hints});
          CHECK(k < kClasses);
          all.insert(k);
        }
  CHECK(all.size() == 4 * 5 * 2 * 5);
  // Bits of the client's own are no class.
  CHECK(class_of({1, 0, 0, std::uint64_t{1} << 40}) == class_of({1, 0, 0, 0}));
}

TEST_CASE("hazard: without data the older of two has the lower index in every class, as under lru") {
  const Curves curves;
  CHECK(!curves.learned());
  for (std::size_t bin = 0; bin + 1 < kBins; ++bin) {
    CHECK(curves.index(0, kBinEdges[bin]) > curves.index(0, kBinEdges[bin] + bin_width(bin) / 2));
    CHECK(curves.index(0, kBinEdges[bin] + bin_width(bin) / 2) > curves.index(0, kBinEdges[bin + 1]));
    CHECK(curves.index(0, kBinEdges[bin]) == curves.index(kClasses - 1, kBinEdges[bin]));
  }
}

TEST_CASE("hazard: what never returns has a lower index than what does, and a peak to come counts before it comes") {
  ReuseCounts counts;
  const std::size_t dies = 0, returns = 1;
  constexpr std::size_t kWhen = 12;
  for (std::size_t bin = 0; bin < kBins; ++bin) {
    counts.add(dies, bin, {0, 1000});
    counts.add(returns, bin, bin < kWhen ? Reuse{0, 1000} : bin == kWhen ? Reuse{900, 100} : Reuse{0, 100});
  }
  Curves curves;
  curves.fit(counts, 0);
  CHECK(curves.learned());
  for (std::size_t bin = 0; bin <= kWhen; ++bin)
    CHECK(curves.index(returns, kBinEdges[bin]) > 5 * curves.index(dies, kBinEdges[bin]));
  for (std::size_t bin = 0; bin < kWhen; ++bin)
    CHECK(curves.index(returns, kBinEdges[bin]) < curves.index(returns, kBinEdges[bin + 1]));
  CHECK(curves.index(returns, kBinEdges[kWhen + 2]) < curves.index(returns, kBinEdges[kWhen]) / 5);
  // A class without counts is as those with as many uses.
  const std::size_t unknown = returns + kAccesses;
  CHECK(curves.index(unknown, kBinEdges[kWhen]) > 5 * curves.index(dies, kBinEdges[kWhen]));
}

TEST_CASE("hazard: a second pace at which many come back is kept, and a bump that chance makes is smoothed") {
  constexpr std::size_t kFirst = 12, kSecond = 22;
  const auto smoothed = [](double seen, double later) {
    Believed believed;
    believed.seen.fill(seen);
    believed.hazards.fill(0.001);
    believed.hazards[kFirst] = 0.4;
    believed.hazards[kSecond] = later;
    smooth_behind_peak(believed);
    return believed.hazards;
  };
  // 400 of 1,000 come back later: at that age, and not at any before.
  CHECK(smoothed(1000, 0.4)[kSecond] == 0.4);
  CHECK(smoothed(1000, 0.4)[kFirst + 1] < 0.01);
  // One of 20 may be chance, and is a slightly higher rate at all ages.
  CHECK(smoothed(20, 0.05)[kSecond] < 0.02);
  CHECK(smoothed(20, 0.05)[kFirst] == 0.4);
  for (const double seen : {20.0, 1000.0}) {
    const Hazards hazards = smoothed(seen, 0.05);
    double alive = 1, before = 0.999;
    for (std::size_t bin = kFirst + 1; bin <= kSecond; ++bin) alive *= 1 - hazards[bin];
    for (std::size_t bin = kFirst + 1; bin < kSecond; ++bin) before *= bin + 1 == kSecond ? 0.95 : 0.999;
    CHECK(alive == doctest::Approx(before).epsilon(0.01));  // as many come back
  }
}

TEST_CASE("hazard: between two paces a prefix is worth less than a new one, and just before the second more") {
  ReuseCounts counts;
  constexpr std::size_t kFirst = 16, kSecond = 24;
  for (std::size_t bin = 0; bin < kBins; ++bin)
    counts.add(0, bin,
               bin == kFirst    ? Reuse{500, 500}
               : bin == kSecond ? Reuse{400, 100}
                                : Reuse{0, bin < kFirst    ? 1000.0
                                           : bin < kSecond ? 500.0
                                                           : 100.0});
  Curves curves;
  curves.fit(counts, 0);
  CHECK(curves.index(0, kBinEdges[kFirst + 1]) < curves.index(0, 0));
  CHECK(curves.index(0, kBinEdges[kSecond]) > 1.2 * curves.index(0, 0));
}

TEST_CASE("hazard: with caution a curve falls with age, the more the greater it is") {
  ReuseCounts counts;
  for (std::size_t bin = 0; bin < kBins; ++bin) counts.add(0, bin, bin == 16 ? Reuse{500, 500} : Reuse{0, 1000});
  const auto rise = [&](double caution) {
    Curves curves;
    curves.fit(counts, caution);
    return curves.index(0, kBinEdges[16]) / curves.index(0, kBinEdges[8]);
  };
  CHECK(rise(0) > 2);
  CHECK(rise(0.5) == doctest::Approx(rise(0) * std::sqrt((kBinEdges[8] + 20) / (kBinEdges[16] + 20))));
  CHECK(rise(4) < 0.1);
}

TEST_CASE("hazard: classes that differ by chance have one curve, and those that differ have their own") {
  constexpr std::size_t kOther = 4 * kAccesses;  // used once, most new tokens
  for (const bool alike : {true, false}) {
    Random random(7);
    ReuseCounts counts;
    for (int round = 0; round < 40; ++round) {
      counts.fade(0.9);
      for (std::size_t k = 0; k < kAccesses * kNews; ++k)
        for (std::size_t bin = 0; bin < kBins; ++bin)
          for (int i = 0; i < 2; ++i)
            counts.add(k, bin, random.one_in(!alike && k == kOther ? 3 : 10) ? Reuse{1, 0} : Reuse{0, 1});
    }
    Curves curves;
    curves.fit(counts, 0);
    CAPTURE(alike);
    for (std::size_t k = 1; k < kAccesses * kNews; ++k)
      if (k != kOther) CHECK(curves.index(k, 100) == doctest::Approx(curves.index(0, 100)).epsilon(alike ? 1e-9 : 0.5));
    const double ratio = curves.index(kOther, 100) / curves.index(0, 100);
    CHECK((alike ? std::abs(ratio - 1) < 1e-9 : ratio > 2));
  }
}

TEST_CASE("hazard: a hint is worth what was counted under it") {
  const std::size_t plain = class_of({1, 0, 0, 0}), ended = class_of({1, 0, 0, hint::kSessionEnded});
  for (const bool true_hints : {true, false}) {
    ReuseCounts some;
    for (std::size_t bin = 0; bin < kBins; ++bin) {
      some.add(plain, bin, {100, 900});
      some.add(ended, bin, true_hints ? Reuse{0, 1000} : Reuse{100, 900});
    }
    Curves curves;
    curves.fit(some, 0);
    const double ratio = curves.index(ended, 100) / curves.index(plain, 100);
    CHECK(ratio < (true_hints ? 0.1 : 1.05));
    if (!true_hints) CHECK(ratio > 0.95);
    // Of a class that was never counted its hint is known.
    const std::size_t longer = class_of({1, 8192, 512, hint::kSessionEnded});
    CHECK((curves.index(longer, 100) < 0.2 * curves.index(plain, 100)) == true_hints);
  }
}

TEST_CASE("hazard: counts fade, and with them their weight") {
  ReuseCounts counts;
  counts.add(3, 1, {8, 4});
  counts.fade(0.5);
  CHECK(counts.of(3)[1].returned == 4);
  CHECK(counts.of(3)[1].survived == 2);
  CHECK(counts.weight() == 6);
  CHECK(!counts.changed());
}

TEST_CASE("hazard: no life is lost when there are more than at first") {
  constexpr int kMany = 1000;
  Lives lives;
  ReuseCounts counts;
  for (int i = 0; i < kMany; ++i) lives.stride_returned(lives.begin(0, 0, 1), 1, counts);
  lives.count(kBinEdges[1], counts);
  CHECK(counts.of(0)[0].returned == kMany);
}

TEST_CASE("hazard: a return is counted when its bin is over, with what survived the bin") {
  Lives lives;
  ReuseCounts counts;
  const Lives::Id id = lives.begin(100, 5, 4);
  CHECK(lives.stride_returned(id, 105, counts) == 100);  // one of four, in the first bin
  lives.count(109, counts);
  CHECK(counts.weight() == 0);
  lives.count(110, counts);
  CHECK(counts.of(5)[0].returned == doctest::Approx(0.25));
  CHECK(counts.of(5)[0].survived == doctest::Approx(0.75));
  for (int i = 0; i < 3; ++i) lives.stride_returned(id, 111, counts);
  lives.stride_returned(id, 111, counts);  // no more than there is
  lives.count(113, counts);
  CHECK(counts.of(5)[1].returned == doctest::Approx(0.75));
  CHECK(counts.of(5)[1].survived == 0);
  lives.count(1e6, counts);
  for (std::size_t bin = 2; bin < kBins; ++bin) CHECK(counts.of(5)[bin].survived == 0);
}

TEST_CASE("hazard: every life survives or returns once in each bin until it has returned, whenever it is counted") {
  Lives often_counted, seldom_counted;
  ReuseCounts often, seldom;
  Random random(5);
  std::vector<Lives::Id> open;
  double now = 0;
  for (int i = 0; i < 5'000; ++i) {
    now += random.below(100) / 10.0;
    often_counted.count(now, often);
    if (random.one_in(500)) seldom_counted.count(now, seldom);
    const std::size_t of_class = random.below(3), strides = 1 + random.below(2);
    open.push_back(often_counted.begin(now, of_class, strides));
    CHECK(seldom_counted.begin(now, of_class, strides) == open.back());
    if (random.one_in(3)) continue;
    const Lives::Id id = open[random.below(static_cast<std::uint32_t>(open.size()))];
    CHECK(often_counted.stride_returned(id, now, often) == seldom_counted.stride_returned(id, now, seldom));
  }
  now += 1e6;
  often_counted.count(now, often), seldom_counted.count(now, seldom);
  CHECK(seldom_counted.stride_returned(open.back(), now, seldom) < 0);  // over: nothing happens
  Reuse before{0, 5'000};
  for (std::size_t bin = 0; bin < kBins; ++bin) {
    Reuse sum;
    for (const std::size_t k : often.known()) {
      CHECK(seldom.of(k)[bin].returned == doctest::Approx(often.of(k)[bin].returned));
      CHECK(seldom.of(k)[bin].survived == doctest::Approx(often.of(k)[bin].survived));
      sum += often.of(k)[bin];
    }
    CHECK(sum.returned + sum.survived == doctest::Approx(before.survived));
    before = sum;
  }
}

TEST_CASE("hazard: the history knows at least the last prefixes up to its limit, with count and life") {
  PrefixHistory history;
  history.limit(1000);
  std::vector<std::uint64_t> prints;
  Random random(9);
  for (std::uint64_t i = 1; i <= 5'000; ++i) {
    prints.push_back(random.next());
    history.promise(1);
    PrefixHistory::Entry& entry = history.use(prints.back());
    REQUIRE(entry.count() == 0);
    entry.set(static_cast<std::uint32_t>(1 + i % 6), i);
  }
  for (std::uint64_t i = 4'001; i <= 5'000; ++i) {
    history.promise(1);
    PrefixHistory::Entry& entry = history.use(prints[i - 1]);
    CHECK(entry.count() == 1 + i % 6);
    CHECK(entry.life() == i);
  }
  history.promise(1);
  PrefixHistory::Entry& forgotten = history.use(prints[0]);
  CHECK(forgotten.count() == 0);
  forgotten.set(1, 1);
  // What is used stays, whatever comes.
  history.promise(1);
  history.use(prints[4'999]).set(6, 77);
  for (int i = 0; i < 20; ++i) {
    for (int j = 0; j < 500; ++j) history.promise(1), history.use(random.next()).set(1, 1);
    history.promise(1);
    CHECK(history.use(prints[4'999]).life() == 77);
  }
}

TEST_CASE("hazard: its clock goes by turnover, and another limit does not bend what has passed") {
  WorkClock clock;
  clock.follow({0, 0, 1000, 1});
  clock.follow({500, 0, 1000, 2});
  CHECK(clock.now() == doctest::Approx(500));
  clock.follow({500, 0, 2000, 2});
  CHECK(clock.now() == doctest::Approx(500));
  clock.follow({1500, 0, 2000, 3});
  CHECK(clock.now() == doctest::Approx(1000));
  clock.follow({1500, 0, kUnlimited, 3});
  CHECK(clock.now() == doctest::Approx(1000));
  const NodeTag tag(NodeTag::of(clock.now(), kClasses - 1));
  CHECK(tag.of_class() == kClasses - 1);
  CHECK(tag.age(clock.now() + 7) == doctest::Approx(7).epsilon(0.001));
}
