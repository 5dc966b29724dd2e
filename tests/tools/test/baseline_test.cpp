#include <bench/baseline_index.h>
#include <bench/subject.h>
#include <canopy/base/random.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <set>
#include <vector>

namespace {

using namespace canopy;

std::set<Page> set_of(const GroupPages& pages) { return {pages[0].begin(), pages[0].end()}; }

}  // namespace

TEST_CASE("the original's algorithm, as a baseline, matches, keeps and evicts what radix does") {
  Registry registry;
  registry.scan(own_plugin_folder(), Trust::as_ourselves);
  for (const Units page : {1U, 4U, 16U}) {
    CAPTURE(page);
    auto ours = bench::make_subject(registry, "radix", page, kUnlimited);
    auto original = bench::make_subject(registry, {}, page, kUnlimited);
    REQUIRE((ours && original));
    PrefixIndex* const both[] = {ours->index.get(), original->index.get()};
    Random random(7 + page);
    std::vector<std::array<Lock, 2>> held;
    Page next = 1;
    for (int step = 0; step < 4'000; ++step) {
      std::vector<std::uint32_t> words(random.below(12 * page));
      for (std::uint32_t& word : words) word = 1 + random.below(random.one_in(8) ? 3 : 1);
      const Key key{NamespaceId{random.below(3)}, words};
      std::array<Lock, 2> locks;
      for (std::size_t i = 0; i < 2; ++i) locks[i] = both[i]->match(key, {});
      REQUIRE(locks[0].length == locks[1].length);
      const GroupPages resident = both[0]->pages(locks[0]);
      REQUIRE(std::ranges::equal(resident[0], both[1]->pages(locks[1])[0]));
      if (random.one_in(2)) {
        std::vector<Page> pages(words.size() / page - locks[0].length / page);
        for (Page& one : pages) one = next++;
        for (std::size_t i = 0; i < 2; ++i)
          locks[i] = both[i]->insert(locks[i], key, {std::span<const Page>(pages)}, {}).lock;
        REQUIRE(locks[0].length == locks[1].length);
      }
      held.push_back(locks);
      while (held.size() > random.below(6)) {
        const std::size_t which = random.below(static_cast<std::uint32_t>(held.size()));
        for (std::size_t i = 0; i < 2; ++i) both[i]->release(held[which][i]);
        held.erase(held.begin() + static_cast<std::ptrdiff_t>(which));
      }
      if (random.one_in(4)) {
        const std::size_t count = random.below(8);
        const std::set<Page> left = set_of(both[0]->evict(0, count));
        REQUIRE(left == set_of(both[1]->evict(0, count)));
      }
      REQUIRE(both[0]->sizes(0).evictable == both[1]->sizes(0).evictable);
      REQUIRE(both[0]->sizes(0).protected_ == both[1]->sizes(0).protected_);
      REQUIRE(both[0]->use().nodes == both[1]->use().nodes);
    }
  }
}

TEST_CASE("a group with a reach is refused with an error message: the original has none") {
  const Group window{"window", 64, kUnlimited, nullptr};
  CHECK_THROWS_WITH(bench::BaselineIndex({1, 0, {&window, 1}}), doctest::Contains("needs the whole path"));
}
