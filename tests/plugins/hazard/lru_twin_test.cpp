#include <hazard/caution.h>
#include <hazard/lru_twin.h>

#include <canopy/base/random.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

using namespace canopy;
using namespace canopy::hazard;

namespace {

/// A pool that evicts by lot, and its twin. What lru would hold is what was used last, as much as the pool has.
class PoolWithTwin {
 public:
  PoolWithTwin(std::uint64_t seed, std::size_t room) : random_(seed), room_(room) {}
  void use(std::uint32_t prefix, double now) {
    const auto known = last_use_.find(prefix);
    if (const auto here = std::find(here_.begin(), here_.end(), prefix); here != here_.end()) {
      twin.used(known->second, now, kTokens);
    } else {
      if (known != last_use_.end()) twin.returned(known->second, kTokens);
      twin.came(now, kTokens);
      here_.push_back(prefix);
    }
    last_use_[prefix] = now;
    while (here_.size() > room_) leave(random_.below(static_cast<std::uint32_t>(here_.size())), now, true);
  }
  void leave(std::size_t which, double now, bool kept_by_lru) {
    twin.left(last_use_[here_[which]], now, kTokens, kept_by_lru);
    if (!kept_by_lru) last_use_.erase(here_[which]);
    here_.erase(here_.begin() + static_cast<std::ptrdiff_t>(which));
  }
  std::size_t size() const { return here_.size(); }
  /// How many of all prefixes fit.
  template <class Fits>
  double count(Fits fits) const {
    return static_cast<double>(
        std::count_if(last_use_.begin(), last_use_.end(), [&](const auto& one) { return fits(one.second); }));
  }

  LruTwin twin;

 private:
  static constexpr std::int64_t kTokens = 1000;
  Random random_;
  std::size_t room_;
  std::vector<std::uint32_t> here_;
  std::map<std::uint32_t, double> last_use_;
};

}  // namespace

TEST_CASE("hazard: the twin holds what lru would, whatever the pool evicts") {
  for (const std::uint32_t prefixes : {80U, 200U, 2'000U}) {
    CAPTURE(prefixes);
    Random random(prefixes);
    PoolWithTwin pool(1, 100);
    double now = 0;
    for (int i = 0; i < 10'000; ++i) {
      pool.use(std::min(random.below(prefixes), random.below(prefixes)), now += 2);  // one of them in each step
      if (random.one_in(50)) pool.leave(random.below(static_cast<std::uint32_t>(pool.size())), now, false);
      if (i % 10 > 0) continue;
      const LruTwin::Oldest lru = pool.twin.oldest();
      const double held = pool.count([&](double last) { return lru.is_held(last); });
      const double gone = pool.count([&](double last) { return lru.is_gone(last); });
      const double all = pool.count([](double) { return true; });
      const double room = static_cast<double>(pool.size()) * 33 / 32;
      CHECK(held <= room);
      CHECK(held + 2 >= std::min(room, all));
      CHECK(all - held - gone <= 1);  // one in the step of the oldest
    }
  }
}

TEST_CASE("hazard: nothing is gone from lru where the pool has evicted nothing") {
  PoolWithTwin pool(1, 1'000);
  for (std::uint32_t i = 0; i < 1'000; ++i) pool.use(i, 2.0 * i);
  CHECK(!pool.twin.oldest().is_gone(0));
  CHECK(pool.twin.oldest().is_held(2));
}

TEST_CASE("hazard: the twin forgets what was evicted long ago, and what stayed is old") {
  for (const double after : {1'000.0, 9'000.0, 1e9}) {
    CAPTURE(after);
    LruTwin twin;
    twin.came(10, 100);
    twin.came(20, 50);
    twin.left(20, 30, 50, true);
    CHECK(twin.oldest().is_gone(10));  // lru has the fifty, and so half of the hundred left
    const double now = 30 + after;
    twin.came(now, 1);
    CHECK((twin.oldest().to < now - 8'000) == (after > 8'000));  // nothing is known to be evicted since
    twin.came(now + 10, 50);
    twin.left(now + 10, now + 20, 50, true);
    CHECK(twin.oldest().is_held(now));  // what lru has of these fifty it has evicted of the hundred
  }
}

TEST_CASE("hazard: caution follows from what came of it, once counts are ripe") {
  constexpr double kPool = 100'000;
  const LruTwin::Oldest lru{1'000, 1'002};
  const auto after = [&](bool hit, double last_use, double tokens) {
    Caution caution;
    caution.asked(false, 1e9, 1'500, lru);
    CHECK(caution.of(kPool, false) == 0.1);
    caution.of(kPool, true);
    caution.asked(false, 20'000, 1'500, lru);  // the trial is over
    caution.asked(true, 400'000, 1'500, lru);  // lru has these, too
    caution.asked(hit, tokens, last_use, lru);
    return caution.of(kPool, true);
  };
  CHECK(after(true, 1'500, 0) == 0.5);
  CHECK(after(true, 500, 8'000) == doctest::Approx(0.5 * std::exp(-8.0 / 8.08)));  // ahead by a hundredth of the hits
  CHECK(after(false, 1'500, 8'000) == doctest::Approx(0.5 * std::exp(1)));
  CHECK(after(false, 500, 8'000) == 0.5);                    // lru has it no more
  CHECK(after(true, 1'001, 8'000) == doctest::Approx(0.5));  // nor is this known
  CHECK(after(false, 1'001, 8'000) == 0.5);
  CHECK(after(true, 500, 400'000) < 1e-6);
  CHECK(after(false, 1'500, 400'000) == 4);
}

TEST_CASE("hazard: a trial costs a fifth of the pool at most, and is not repeated") {
  constexpr double kPool = 100'000;
  const LruTwin::Oldest lru{1'000, 1'002};
  Caution caution;
  CHECK(caution.of(kPool, true) < 0.01);
  caution.asked(false, 20'000, 1'500, lru);
  CHECK(caution.of(kPool, true) == doctest::Approx(0.5));
  caution.asked(false, 4'000, 1'500, lru);
  CHECK(caution.of(kPool, true) == doctest::Approx(0.5 * std::exp(1)));
  caution.fade(0.5);
  CHECK(caution.of(kPool, true) == doctest::Approx(0.5 * std::exp(0.5)));
}
