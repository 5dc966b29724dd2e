/// Random requests of several tenants beside a model of shares that knows no tree: each prompt is a pile of pages.
#include <canopy/base/random.h>
#include <support/engines.h>

#include <fmt/format.h>
#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>

using namespace canopy;
using namespace canopy::test;

namespace {

constexpr std::uint64_t kPage = 4, kNone = ~std::uint64_t{0};

struct Share {
  std::uint64_t floor = 0, ceiling = kNone;  // pages
  double weight = 1;
};

/// One prompt of one tenant: the pieces in which its pages came, in path order. Prompts share no page.
struct Pile {
  std::size_t tenant = 0;
  std::uint64_t pages = 0;  ///< whole pages of the prompt
  std::vector<std::uint64_t> pieces;
  std::uint64_t used = 0;
  std::multiset<std::uint64_t> locks;  ///< pages under each lock
  std::uint64_t held() const {
    std::uint64_t sum = 0;
    for (const std::uint64_t piece : pieces) sum += piece;
    return sum;
  }
  std::uint64_t locked() const { return locks.empty() ? 0 : *locks.rbegin(); }
};

/// The promises of the header of TenantShare and that of the choice, one page after the other.
class Model {
 public:
  Model(std::uint64_t capacity, std::vector<Share> shares, std::vector<Pile> piles)
      : capacity_(capacity), shares_(std::move(shares)), piles_(std::move(piles)), paid(shares_.size()) {}

  std::uint64_t held(std::size_t tenant) const { return sum(tenant, false); }
  std::uint64_t evictable(std::size_t tenant) const { return sum(tenant, true); }
  std::uint64_t free_pages() const {
    std::uint64_t cached = owned;
    for (std::size_t t = 0; t < shares_.size(); ++t) cached += held(t);
    return capacity_ - cached;
  }
  bool make_free(std::uint64_t pages, std::size_t taker) {
    std::uint64_t all = free_pages();
    for (std::size_t t = 0; t < shares_.size(); ++t) all += evictable(t);
    if (all < pages) return false;
    while (free_pages() < pages) evict_for(pages - free_pages(), taker);
    return true;
  }
  void keep_ceiling(std::size_t tenant) {
    while (held(tenant) > shares_[tenant].ceiling && evictable(tenant) > 0)
      take(tenant, held(tenant) - shares_[tenant].ceiling);
  }
  Pile& pile(std::size_t i) { return piles_[i]; }

  std::uint64_t capacity_, owned = 0;
  std::vector<Share> shares_;
  std::vector<Pile> piles_;
  std::vector<std::uint64_t> paid;
  std::uint64_t below_floor = 0, ceilings = 0, splits = 0;

 private:
  std::uint64_t sum(std::size_t tenant, bool unlocked) const {
    std::uint64_t pages = 0;
    for (const Pile& pile : piles_)
      if (pile.tenant == tenant) pages += pile.held() - (unlocked ? pile.locked() : 0);
    return pages;
  }
  void evict_for(std::uint64_t pages, std::size_t taker) {
    const Share& own = shares_[taker];
    if (own.ceiling != kNone && evictable(taker) > 0 && held(taker) + pages > own.ceiling) {
      ++ceilings;
      return take(taker, held(taker) + pages - own.ceiling);
    }
    std::optional<std::size_t> furthest;
    for (std::size_t t = 0; t < shares_.size(); ++t) {
      if (evictable(t) == 0 || held(t) <= shares_[t].floor) continue;
      if (!furthest || above(t) > above(*furthest)) furthest = t;
    }
    if (furthest) return pay(*furthest, held(*furthest) - shares_[*furthest].floor, taker);
    if (evictable(taker) > 0) return take(taker, kNone);
    for (std::size_t t = 0; t < shares_.size(); ++t) {
      if (evictable(t) == 0) continue;
      if (!furthest || part(t) > part(*furthest)) furthest = t;
    }
    const std::uint64_t had = held(*furthest);
    pay(*furthest, pages, taker);
    below_floor += had - held(*furthest);
  }
  double above(std::size_t t) const { return static_cast<double>(held(t) - shares_[t].floor) / shares_[t].weight; }
  double part(std::size_t t) const { return static_cast<double>(held(t)) / static_cast<double>(shares_[t].floor); }
  void pay(std::size_t tenant, std::uint64_t most, std::size_t taker) {
    const std::uint64_t had = held(tenant);
    take(tenant, most);
    if (tenant != taker) paid[tenant] += had - held(tenant);
  }
  /// The last piece of the pile that was used the longest ago, or its last `most` pages.
  void take(std::size_t tenant, std::uint64_t most) {
    Pile* oldest = nullptr;
    for (Pile& pile : piles_)
      if (pile.tenant == tenant && pile.held() > pile.locked() && (!oldest || pile.used < oldest->used)) oldest = &pile;
    REQUIRE(oldest);
    std::uint64_t& piece = oldest->pieces.back();
    if (piece > most) piece -= most, ++splits;
    else oldest->pieces.pop_back();
  }
};

struct Running {
  std::size_t pile = 0;
  std::uint64_t owned = 0, matched = 0;
  Request request;
};

std::string file_of(std::uint64_t capacity, const std::vector<Share>& shares) {
  std::string text = fmt::format(
      "page_size: {}\nindex: radix\ngroups: {{ full: {{ reach: path, capacity: {}, allocator: free_list, eviction: lru "
      "}} }}\ntenants:\n",
      kPage, capacity * kPage);
  for (std::size_t t = 0; t < shares.size(); ++t) {
    text += fmt::format("  t{}: {{ floor: {}, weight: {}", t, shares[t].floor * kPage, shares[t].weight);
    if (shares[t].ceiling != kNone) text += fmt::format(", ceiling: {}", shares[t].ceiling * kPage);
    text += " }\n";
  }
  return text;
}

struct Met {
  std::uint64_t evicted = 0, below_floor = 0, ceilings = 0, splits = 0, refused = 0;
};

void run(std::uint64_t seed, int operations, Met& met) {
  Random random(seed);
  const auto below = [&](std::uint64_t end) { return random.remainder(end); };
  const std::size_t tenants = 1 + below(5);
  const std::uint64_t capacity = 24 + below(80);
  std::vector<Share> shares(tenants);
  std::uint64_t floors = 0;
  constexpr double kWeights[] = {1, 0.25, 2, 3.5};
  for (Share& share : shares) {
    if (below(2)) share.floor = below((capacity - floors) / 2 + 1), floors += share.floor;
    share.weight = kWeights[below(4)];
    if (below(3) == 0) share.ceiling = std::max<std::uint64_t>(share.floor, 1) + below(capacity / 2);
  }
  std::vector<Pile> piles(tenants * 12);
  for (std::size_t i = 0; i < piles.size(); ++i) piles[i].tenant = i % tenants, piles[i].pages = 1 + below(9);
  Model model(capacity, shares, piles);
  const auto engine = engine_of(file_of(capacity, shares));
  std::vector<NamespaceId> spaces;
  for (std::size_t t = 0; t < tenants; ++t) {
    const std::string name = fmt::format("t{}", t);
    spaces.push_back(engine->intern({.tenant = name}));
  }
  std::vector<Running> running;
  std::uint64_t tick = 0;
  for (int operation = 0; operation < operations; ++operation) {
    if (running.size() < 4 && below(3) > 0) {
      const std::size_t i = below(piles.size());
      Pile& pile = model.pile(i);
      const auto prompt = tokens(static_cast<Token>(1 + i * 1000), pile.pages * kPage + 1);
      RequestSpec spec = arrival(prompt);
      spec.space = spaces[pile.tenant];
      Running next{i, 0, pile.held(), engine->begin(spec)};
      CHECK(next.request.matched() == next.matched * kPage);
      if (next.matched > 0) pile.locks.insert(next.matched), pile.used = ++tick;
      const bool fits = model.make_free(pile.pages + 1 - next.matched, pile.tenant);
      REQUIRE(next.request.reserve(static_cast<std::uint32_t>(prompt.size())) == fits);
      met.refused += !fits;
      if (!fits) {
        next.request.abort();
        if (next.matched > 0) pile.locks.erase(pile.locks.find(next.matched));
      } else {
        next.owned = pile.pages + 1 - next.matched;
        model.owned += next.owned;
        running.push_back(std::move(next));
      }
    } else if (!running.empty()) {
      const auto at = running.begin() + static_cast<std::ptrdiff_t>(below(running.size()));
      Pile& pile = model.pile(at->pile);
      const std::uint64_t new_pages = pile.pages - pile.held();  // another request may have brought some
      at->request.finish(static_cast<std::uint32_t>(pile.pages * kPage + 1));
      if (new_pages > 0) pile.pieces.push_back(new_pages);
      pile.used = ++tick;
      if (at->matched > 0) pile.locks.erase(pile.locks.find(at->matched));
      const auto lock = pile.locks.insert(pile.pages);
      model.owned -= at->owned - 1;
      model.keep_ceiling(pile.tenant);
      pile.locks.erase(lock);
      --model.owned;
      model.keep_ceiling(pile.tenant);
      running.erase(at);
    }
    const auto figures = engine->tenants();
    for (std::size_t t = 0; t < tenants; ++t) {
      const TenantUse& of = figures[t + 1];
      REQUIRE(of.name == fmt::format("t{}", t));
      INFO("seed ", seed, ", operation ", operation, ", tenant ", t);
      REQUIRE(of.cached == model.held(t) * kPage);
      REQUIRE(of.paid == model.paid[t] * kPage);
      met.evicted += operation == operations - 1 ? of.evicted : 0;
    }
  }
  std::uint64_t below_floor = 0;
  for (const TenantUse& of : engine->tenants()) below_floor += of.below_floor;
  CHECK(below_floor == model.below_floor * kPage);
  running.clear();
  check_settled(*engine);
  met.below_floor += model.below_floor, met.ceilings += model.ceilings, met.splits += model.splits;
}

}  // namespace

TEST_CASE("shares: evictions hit the tenants that a model of piles says, and the pages it says") {
  Met met;
  const char* const ops = std::getenv("CANOPY_OPS");
  const auto seeds = static_cast<std::uint64_t>(150 * (ops ? std::atof(ops) : 1)) + 1;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) run(seed, 400, met);
  CHECK(met.evicted > 1000);
  CHECK(met.below_floor > 0);
  CHECK(met.ceilings > 0);
  CHECK(met.splits > 0);
  CHECK(met.refused > 0);
}
