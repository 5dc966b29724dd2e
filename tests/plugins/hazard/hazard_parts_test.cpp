#include <hazard/duel.h>
#include <hazard/prefix_history.h>

#include <canopy/base/random.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>

using namespace canopy;
using namespace canopy::hazard;

namespace {

ReuseTree::Group shared(ReuseTree& tree, const Use& use) { return tree.group(NamespaceId::shared, class_of(use)); }

/// Counts the same in each bin.
void fill(ReuseTree& tree, ReuseTree::Group group, const Reuse& counts) {
  for (std::size_t bin = 0; bin < kBins; ++bin) tree.add(group, bin, bin + 1, counts);
}

}  // namespace

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
  for (std::uint32_t count : {1U, 2U, 5U, 15U, 63U, 64U})
    for (std::uint32_t fresh : {0U, 640U, 1280U, 3072U, 8192U})
      for (std::uint32_t answer : {127U, 128U})
        for (std::uint64_t hints : {std::uint64_t{0}, hint::kSessionEnded, hint::kToolCallPending, hint::of_class(7),
                                    hint::kSessionEnded | hint::of_class(3)}) {
          const std::size_t k = class_of({count, fresh, answer, hints});
          CHECK(k < kClasses);
          CHECK(session_ended_in(k) == ((hints & hint::kSessionEnded) != 0));
          all.insert(k);
        }
  CHECK(all.size() == (3 * 5 * 2 + 3) * 5);  // from six uses on neither new tokens nor answer matter
  // Bits of the client's own are no class.
  CHECK(class_of({1, 0, 0, std::uint64_t{1} << 40}) == class_of({1, 0, 0, 0}));
}

TEST_CASE("hazard: without data the older of two has the lower index in every class, as under lru") {
  ReuseTree tree;
  CHECK(!tree.learned());
  const auto one = shared(tree, {}), other = shared(tree, {9, 9000, 900, hint::kSessionEnded});
  CHECK(one != other);
  for (std::size_t bin = 0; bin + 1 < kBins; ++bin) {
    CHECK(tree.index(one, kBinEdges[bin]) > tree.index(one, kBinEdges[bin] + bin_width(bin) / 2));
    CHECK(tree.index(one, kBinEdges[bin] + bin_width(bin) / 2) > tree.index(one, kBinEdges[bin + 1]));
    CHECK(tree.index(one, kBinEdges[bin]) == tree.index(other, kBinEdges[bin]));
  }
}

TEST_CASE("hazard: the example of docs/policies.md: counts, index, and the best age to give a token up") {
  // A quarter of 1,000 comes back between 96 and 128, and nothing else does.
  Hazards hazards{};
  hazards.fill(1e-6);
  const std::size_t peak = bin_of(125);
  hazards[peak] = 0.25;
  const auto index = indexes_of(hazards);
  // From age 0 the best is to keep it until the end of that bin: a quarter of a hit for 0.124 turnovers.
  CHECK(index[0] == doctest::Approx(0.25 / ((kBinEdges[peak] + bin_width(peak) * 0.875) / 1000)).epsilon(0.001));
  CHECK(index[peak] == doctest::Approx(0.25 / (bin_width(peak) * 0.875 / 1000)).epsilon(0.001));
  CHECK(index[peak + 1] < 0.01);
}

TEST_CASE("hazard: what never returns has a lower index than what does, and a peak to come counts before it comes") {
  ReuseTree tree;
  const auto dies = shared(tree, {1, 0, 0, 0}), returns = shared(tree, {2, 0, 0, 0});
  constexpr std::size_t kWhen = 12;
  for (std::size_t bin = 0; bin < kBins; ++bin) {
    tree.add(dies, bin, bin + 1, {0, 1000});
    tree.add(returns, bin, bin + 1, bin < kWhen ? Reuse{0, 1000} : bin == kWhen ? Reuse{900, 100} : Reuse{0, 100});
  }
  tree.fit(1);
  CHECK(tree.learned());
  for (std::size_t bin = 0; bin <= kWhen; ++bin)
    CHECK(tree.index(returns, kBinEdges[bin]) > 5 * tree.index(dies, kBinEdges[bin]));
  for (std::size_t bin = 0; bin < kWhen; ++bin)
    CHECK(tree.index(returns, kBinEdges[bin]) < tree.index(returns, kBinEdges[bin + 1]));
  CHECK(tree.index(returns, kBinEdges[kWhen + 2]) < tree.index(returns, kBinEdges[kWhen]) / 5);
  // A class without counts is as those with as many uses.
  CHECK(tree.index(shared(tree, {2, 700, 0, 0}), kBinEdges[kWhen]) > 5 * tree.index(dies, kBinEdges[kWhen]));
}

TEST_CASE("hazard: a life that grows older than almost all of its group keeps a part of the worth that its group had") {
  ReuseTree tree;
  const auto popular = shared(tree, {20, 0, 0, 0}), once = shared(tree, {1, 0, 0, 0});
  // A third of the rest of a popular prefix returns in each bin; nothing of the others does.
  double left = 1000;
  for (std::size_t bin = 0; bin < kBins; ++bin) {
    tree.add(popular, bin, bin + 1, {left / 3, left * 2 / 3});
    tree.add(once, bin, bin + 1, {0, 5000});
    left *= 2.0 / 3;
  }
  tree.fit(1);
  // At about one turnover two of 1,000 are left. The other groups alone would leave 0.3 of this worth.
  constexpr std::size_t kOld = 15;
  const double worth = 1.0 / 3 / (bin_width(kOld) / kAgesPerTurnover * (1 - 0.5 / 3));
  CHECK(tree.index(popular, kBinEdges[kOld]) > 0.36 * worth);
  CHECK(tree.index(popular, kBinEdges[kOld]) < worth);
}

TEST_CASE("hazard: what one request has new says nothing of a prefix that many use") {
  CHECK(class_of({6, 100, 10, 0}) == class_of({6, 9000, 900, 0}));
  CHECK(class_of({5, 100, 10, 0}) != class_of({5, 9000, 10, 0}));
  CHECK(class_of({5, 100, 10, 0}) != class_of({5, 100, 900, 0}));
  CHECK(class_of({6, 100, 10, 0}) != class_of({16, 100, 10, 0}));
  CHECK(class_of({6, 100, 10, hint::kSessionEnded}) != class_of({6, 100, 10, 0}));
}

TEST_CASE("hazard: between two paces a prefix is worth less than a new one, and just before the second more") {
  ReuseTree tree;
  const auto group = shared(tree, {});
  constexpr std::size_t kFirst = 11, kSecond = 15;
  for (std::size_t bin = 0; bin < kBins; ++bin)
    tree.add(group, bin, bin + 1,
             bin == kFirst    ? Reuse{500, 500}
             : bin == kSecond ? Reuse{400, 100}
                              : Reuse{0, bin < kFirst    ? 1000.0
                                         : bin < kSecond ? 500.0
                                                         : 100.0});
  tree.fit(1);
  CHECK(tree.index(group, kBinEdges[kFirst + 1]) < tree.index(group, 0));
  CHECK(tree.index(group, kBinEdges[kSecond]) > 1.2 * tree.index(group, 0));
}

TEST_CASE("hazard: a hint is worth what was counted under it") {
  for (const bool true_hints : {true, false}) {
    ReuseTree tree;
    const auto plain = shared(tree, {1, 0, 0, 0}), ended = shared(tree, {1, 0, 0, hint::kSessionEnded});
    fill(tree, plain, {100, 900});
    fill(tree, ended, true_hints ? Reuse{0, 1000} : Reuse{100, 900});
    tree.fit(1);
    const double ratio = tree.index(ended, 100) / tree.index(plain, 100);
    CHECK(ratio < (true_hints ? 0.1 : 1.05));
    if (!true_hints) CHECK(ratio > 0.95);
    // Only the hint of a class that was never counted is known.
    const auto longer = shared(tree, {1, 8192, 512, hint::kSessionEnded});
    CHECK((tree.index(longer, 100) < 0.2 * tree.index(plain, 100)) == true_hints);
  }
}

TEST_CASE("hazard: a namespace learns for itself, and without counts of its own is as all others") {
  ReuseTree tree;
  const std::size_t k = class_of({1, 2000, 300, 0});
  const auto good = tree.group(NamespaceId{1}, k), bad = tree.group(NamespaceId{2}, k);
  CHECK(tree.group(NamespaceId{1}, k) == good);
  fill(tree, good, {300, 700});
  fill(tree, bad, {0, 1000});
  tree.fit(1);
  const auto unknown = tree.group(NamespaceId{3}, k);
  CHECK(tree.index(good, 100) > 20 * tree.index(bad, 100));
  CHECK(tree.index(unknown, 100) < tree.index(good, 100));
  CHECK(tree.index(unknown, 100) > 10 * tree.index(bad, 100));
  CHECK(tree.index(unknown, 100) == tree.index(tree.group(NamespaceId::shared, k), 100));
}

TEST_CASE("hazard: more namespaces than there is room for have the groups of all") {
  ReuseTree tree;
  const std::size_t k = class_of({});
  ReuseTree::Group last = 0;
  for (std::uint32_t space = 1; space < 2 * ReuseTree::kMostGroups; ++space) last = tree.group(NamespaceId{space}, k);
  CHECK(last == tree.group(NamespaceId::shared, k));
  CHECK(tree.group(NamespaceId::shared, class_of({2, 0, 0, 0})) == 0);
  fill(tree, last, {1, 1});
  tree.fit(1);
  CHECK(tree.index(last, 50) > 0);
}

TEST_CASE("hazard: counts fade") {
  ReuseTree tree;
  const auto group = shared(tree, {});
  tree.add(group, 1, 2, {8, 4});
  tree.fit(0.5);
  CHECK(tree.of(group)[1].returned == 4);
  CHECK(tree.of(group)[1].survived == 2);
}

TEST_CASE("hazard: no life is lost when there are more than at first") {
  constexpr int kMany = 1000;
  ReuseTree tree;
  Lives lives(tree);
  const auto group = shared(tree, {});
  for (int i = 0; i < kMany; ++i) lives.begin(0, group, 1, 512);
  for (Lives::Id id = 1; id < lives.next(); ++id) CHECK(lives.stride_returned(id, 1) == 512);
  lives.count(kBinEdges[1]);
  CHECK(tree.of(group)[0].returned == kMany);
}

TEST_CASE("hazard: a return is counted when its bin is over, with what survived the bin") {
  ReuseTree tree;
  Lives lives(tree);
  const auto group = shared(tree, {});
  const auto& counts = tree.of(group);
  lives.begin(100, group, 4, 2148);
  CHECK(lives.stride_returned(1, 105) == 512);  // one of four, in the first bin
  lives.count(107);
  CHECK(counts[0].all() == 0);
  lives.count(108);
  CHECK(counts[0].returned == doctest::Approx(0.25));
  CHECK(counts[0].survived == doctest::Approx(0.75));
  CHECK(lives.stride_returned(1, 111) == 512);
  CHECK(lives.stride_returned(1, 111) == 512);
  CHECK(lives.stride_returned(1, 111) == 612);  // the last one, with what is behind it
  CHECK(lives.stride_returned(1, 111) == 0);    // no more than there is
  lives.count(113);
  CHECK(counts[1].returned == doctest::Approx(0.75));
  CHECK(counts[1].survived == 0);
  lives.count(1e6);
  for (std::size_t bin = 2; bin < kBins; ++bin) CHECK(counts[bin].survived == 0);
  CHECK(!lives.knows(1));
}

TEST_CASE("hazard: every life survives or returns once in each bin until it has returned, whenever it is counted") {
  ReuseTree often, seldom;
  Lives often_counted(often), seldom_counted(seldom);
  Random random(5);
  double now = 0;
  for (int i = 0; i < 5'000; ++i) {
    now += random.below(100) / 10.0;
    often_counted.count(now);
    if (random.one_in(500)) seldom_counted.count(now);
    const Use use{1 + random.below(3), 0, 0, 0};
    const std::size_t strides = 1 + random.below(2);
    often_counted.begin(now, shared(often, use), strides, 512),
        seldom_counted.begin(now, shared(seldom, use), strides, 512);
    if (random.one_in(3)) continue;
    const Lives::Id id = 1 + random.below(static_cast<std::uint32_t>(often_counted.next() - 1));
    if (often_counted.knows(id)) often_counted.stride_returned(id, now);
    if (seldom_counted.knows(id)) seldom_counted.stride_returned(id, now);
  }
  now += 1e6;
  often_counted.count(now), seldom_counted.count(now);
  double before = 5'000;
  for (std::size_t bin = 0; bin < kBins; ++bin) {
    Reuse sum;
    for (std::uint32_t count = 1; count <= 3; ++count) {
      const Reuse one = often.of(shared(often, {count, 0, 0, 0}))[bin];
      const Reuse other = seldom.of(shared(seldom, {count, 0, 0, 0}))[bin];
      CHECK(other.returned == doctest::Approx(one.returned));
      CHECK(other.survived == doctest::Approx(one.survived));
      sum.returned += one.returned, sum.survived += one.survived;
    }
    CHECK(sum.all() == doctest::Approx(before));
    before = sum.survived;
  }
}

TEST_CASE("hazard: the history knows nearly all of the last prefixes up to its limit, with count and life") {
  PrefixHistory history;
  history.limit(1000);
  std::vector<std::uint64_t> prints;
  Random random(9);
  const auto made = [&](std::uint64_t i) {
    return PrefixHistory::Entry{prints[i - 1], i & PrefixHistory::kMostLife, static_cast<std::uint8_t>(1 + i % 6)};
  };
  for (std::uint64_t i = 1; i <= 50'000; ++i) {
    prints.push_back(random.next());
    PrefixHistory::Entry& entry = history.use(prints.back());
    REQUIRE(std::uint64_t{entry.count} == 0);
    entry = made(i);
  }
  const auto known_of = [&](std::uint64_t first, std::uint64_t last) {
    int known = 0;
    for (std::uint64_t i = first; i <= last; ++i) {
      PrefixHistory::Entry& entry = history.use(prints[i - 1]);
      const bool is_known = entry.count != 0;
      if (is_known) CHECK((entry.count == made(i).count && entry.life == i));
      known += is_known;
      entry = made(i);
    }
    return known;
  };
  CHECK(known_of(49'001, 50'000) > 970);
  // An entry of a larger table was in the smaller one.
  history.limit(100'000);
  CHECK(known_of(49'001, 50'000) > 970);
  CHECK(known_of(1, 1'000) < 30);
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
  for (const bool first_turn : {true, false}) {
    const NodeTag tag(NodeTag::of(clock.now(), 4095, first_turn));
    CHECK(tag.of_class() == 4095);
    CHECK(tag.first_turn() == first_turn);
    CHECK(tag.age(clock.now() + 7) == doctest::Approx(7).epsilon(0.001));
  }
}

namespace {

/// Prompts of a stride in a pool of `room` of them: which pools have the life, and the order in use.
struct Match {
  ReuseTree tree;
  Lives lives{tree};
  Duel duel{lives, tree};
  double now = 0, room = 4 * 512;

  /// Requests a prompt again, 0: a new one. Returns the life that it has now.
  Lives::Id ask(Lives::Id before = 0, const Use& use = {}) {
    now += 100;
    duel.look_up(before, now);
    lives.begin(now, shared(tree, use), 1, 512);
    duel.put(lives.next() - 1);
    duel.end_request(room, now);
    return lives.next() - 1;
  }
  /// A prefix that comes again has been used twice, and nothing else comes again.
  void learn() {
    fill(tree, shared(tree, {2, 0, 0, 0}), {500, 500});
    fill(tree, shared(tree, {1, 0, 0, 0}), {0, 1000});
    tree.fit(1);
  }
};

}  // namespace

TEST_CASE("hazard: lru takes over when the index would have lost, and only then") {
  for (const bool right : {false, true}) {
    CAPTURE(right);
    Match match;
    match.learn();
    // `right`: prompts that were used twice are wanted again; otherwise those that were used once are, soon after.
    std::vector<Lives::Id> wanted(3);
    for (int i = 0; i < 300; ++i) {
      if (right) {
        Lives::Id& again = wanted[static_cast<std::size_t>(i) % 3];
        again = match.ask(again, {2, 0, 0, 0});
        for (int j = 0; j < 3; ++j) match.ask();
      } else {
        match.ask(match.ask(), {2, 0, 0, 0});
        const Lives::Id once = match.ask();
        match.ask(0, {2, 0, 0, 0}), match.ask(0, {2, 0, 0, 0});
        match.ask(once, {2, 0, 0, 0});
      }
    }
    CHECK(match.duel.lru_rules() == !right);
  }
}

TEST_CASE("hazard: an index that lost has to prove more") {
  Match match;
  match.learn();
  std::vector<Lives::Id> kept(3);
  const auto good = [&] {
    for (Lives::Id& again : kept) {
      again = match.ask(again, {2, 0, 0, 0});
      for (int j = 0; j < 3; ++j) match.ask();
    }
  };
  const auto lose = [&] {
    for (int i = 0; i < 9 || !match.duel.lru_rules(); ++i) {
      const Lives::Id once = match.ask();
      match.ask(0, {2, 0, 0, 0}), match.ask(0, {2, 0, 0, 0});
      match.ask(once, {2, 0, 0, 0});
    }
  };
  std::vector<int> rounds;
  for (int i = 0; i < 6; ++i) {
    lose();
    match.duel.fade(0);
    rounds.push_back(0);
    while (match.duel.lru_rules() && rounds.back() < 1'000) good(), ++rounds.back();
  }
  CHECK(rounds[5] > 2 * rounds[0]);
  CHECK(rounds[5] < 1'000);
}

TEST_CASE(
    "hazard: pools that hold all that is wanted, to the last token, are no evidence, and a flush leaves none either") {
  Match match;
  match.learn();
  std::vector<Lives::Id> wanted(3);
  for (int i = 0; i < 300; ++i) {  // lru misses some: the index is in use
    Lives::Id& again = wanted[static_cast<std::size_t>(i) % 3];
    again = match.ask(again, {2, 0, 0, 0});
    for (int j = 0; j < 3; ++j) match.ask();
  }
  REQUIRE_FALSE(match.duel.lru_rules());
  match.duel.clear();
  std::vector<Lives::Id> all(4);
  for (int round = 0; round < 300; ++round)
    for (Lives::Id& again : all) again = match.ask(again);
  CHECK_FALSE(match.duel.lru_rules());
  match.room = 100 * 512.0;
  std::vector<Lives::Id> many;
  for (int i = 0; i < 80; ++i) many.push_back(match.ask());
  match.duel.clear();
  for (const Lives::Id id : many) match.ask(id);
  CHECK_FALSE(match.duel.lru_rules());
}

TEST_CASE("hazard: a flush empties both pools of names") {
  Match match;
  match.learn();
  for (int i = 0; i < 9 || !match.duel.lru_rules(); ++i) {
    const Lives::Id once = match.ask();
    match.ask(0, {2, 0, 0, 0}), match.ask(0, {2, 0, 0, 0});
    match.ask(once, {2, 0, 0, 0});
  }
  match.duel.fade(0);
  match.room = 100 * 512.0;
  std::vector<Lives::Id> many;  // the index keeps them, lru does not
  for (int i = 0; i < 80; ++i) many.push_back(match.ask(0, {2, 0, 0, 0}));
  for (int i = 0; i < 200; ++i) match.ask();
  match.duel.clear();
  for (const Lives::Id id : many) match.ask(id);
  CHECK(match.duel.lru_rules());
}
