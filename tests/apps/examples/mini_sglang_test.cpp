#include <conformance/model/plugins.h>
#include <mini_sglang/cache_manager.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <set>

namespace {

using namespace canopy;
using namespace canopy::examples;
using canopy::test::plugins;

using SlotList = std::vector<Slot>;

std::vector<Token> tokens(std::size_t count, Token first = 0) {
  std::vector<Token> ids(count);
  std::iota(ids.begin(), ids.end(), first);
  return ids;
}

/// `count` slots in a row from the start of `page` on.
SlotList slots(Page page, std::size_t count, Units page_size) { return tokens(count, page * page_size); }

void check_sizes(const PrefixCache& cache, std::uint64_t evictable, std::uint64_t protected_) {
  CHECK(cache.size_info().evictable == evictable);
  CHECK(cache.size_info().protected_ == protected_);
  cache.check_integrity();
}

/// All of the pool is out, and so many pages of it, from page 1 on, are in the cache, not locked.
CacheManager full_pool(std::uint32_t pages, Units page_size, std::uint32_t cached) {
  CacheManager manager(plugins(), "radix", pages, page_size);
  const auto all = manager.allocate(pages);
  CHECK(manager.free_pages() == 0);
  manager.prefixes().insert_prefix(tokens(std::size_t{cached} * page_size),
                                   manager.prefixes().slots_of(std::span(all).first(cached)));
  return manager;
}

/// Different pages, and each stands for slots that no other has.
void check_apart(const PrefixCache& cache, const std::vector<Page>& pages) {
  const auto all = cache.slots_of(pages);
  CHECK(std::set<Slot>(all.begin(), all.end()).size() == pages.size() * cache.page_size());
}

}  // namespace

// Faults that mini-sglang once had, by its history.

TEST_CASE("a match names the end of what was found, not the root") {
  PrefixCache cache(plugins(), "radix", 1);
  cache.insert_prefix(tokens(6), slots(1, 6, 1));
  Handle handle = cache.match_prefix(tokens(4));
  CHECK(handle.cached_len() == 4);
  cache.lock_handle(handle);
  CHECK(cache.matched_slots(handle) == SlotList{1, 2, 3, 4});
  check_sizes(cache, 2, 4);
  cache.lock_handle(handle, true);
  check_sizes(cache, 6, 0);
}

TEST_CASE("a lock protects the node it ends in, and all above it") {
  PrefixCache cache(plugins(), "radix", 1);
  cache.insert_prefix(tokens(3), slots(1, 3, 1));
  Handle handle = cache.insert_prefix(tokens(8), slots(1, 8, 1)).handle;
  cache.lock_handle(handle);
  check_sizes(cache, 0, 8);
  CHECK_THROWS_WITH_AS(cache.evict(1), "cannot evict 1 tokens: only 0 are not locked", CacheError);
  CHECK(cache.matched_slots(handle) == slots(1, 8, 1));
}

TEST_CASE("locks on one path count: each is released once, in any order") {
  PrefixCache cache(plugins(), "radix", 1);
  cache.insert_prefix(tokens(8), slots(1, 8, 1));
  Handle whole = cache.match_prefix(tokens(8)), half = cache.match_prefix(tokens(4)),
         again = cache.match_prefix(tokens(4));
  for (Handle* handle : {&whole, &half, &again}) cache.lock_handle(*handle);
  check_sizes(cache, 0, 8);
  cache.lock_handle(half, true);
  check_sizes(cache, 0, 8);
  cache.lock_handle(whole, true);
  check_sizes(cache, 4, 4);
  cache.lock_handle(again, true);
  check_sizes(cache, 8, 0);
  CHECK_THROWS_WITH_AS(cache.lock_handle(again, true), "cannot unlock a handle of 4 tokens: it is not locked",
                       CacheError);
  cache.lock_handle(again);
  CHECK_THROWS_WITH_AS(cache.lock_handle(again), "cannot lock a handle of 4 tokens: it is already locked", CacheError);
  check_sizes(cache, 4, 4);
}

TEST_CASE("an eviction counts in tokens and gives whole pages, at least as many as were asked for") {
  PrefixCache cache(plugins(), "radix", 4);
  cache.insert_prefix(tokens(4, 100), slots(1, 4, 4));
  cache.insert_prefix(tokens(4, 200), slots(2, 4, 4));
  cache.insert_prefix(tokens(8, 300), slots(3, 8, 4));
  CHECK(cache.evict(0).empty());
  check_sizes(cache, 16, 0);
  CHECK(cache.evict(5) == slots(1, 8, 4));
  check_sizes(cache, 8, 0);
  // One node has both pages: it leaves whole.
  CHECK(cache.evict(1) == slots(3, 8, 4));
  check_sizes(cache, 0, 0);
}

TEST_CASE("the cache and its caller share no memory: writing to either's slots changes nothing for the other") {
  PrefixCache cache(plugins(), "radix", 1);
  SlotList row = slots(1, 8, 1);
  auto ids = tokens(8);
  Handle handle = cache.insert_prefix(ids, row).handle;
  std::fill(row.begin(), row.end(), 99U);
  std::fill(ids.begin(), ids.end(), 7U);
  cache.lock_handle(handle);
  SlotList matched = cache.matched_slots(handle);
  CHECK(matched == slots(1, 8, 1));
  std::fill(matched.begin(), matched.end(), 99U);
  // A split cuts the node that the values are in.
  CHECK(cache.insert_prefix(tokens(4), slots(50, 4, 1)).cached_len == 4);
  CHECK(cache.matched_slots(handle) == slots(1, 8, 1));
}

TEST_CASE("the root is a handle like any other: it locks nothing, and has no slots") {
  for (const char* index : {"radix", "null"}) {
    CAPTURE(index);
    PrefixCache cache(plugins(), index, 4);
    Handle root = cache.match_prefix(tokens(20));
    CHECK(root.cached_len() == 0);
    cache.lock_handle(root);
    CHECK(cache.matched_slots(root).empty());
    cache.lock_handle(root, true);
    CHECK(cache.insert_prefix(tokens(3), slots(1, 3, 4)).handle.cached_len() == 0);
    check_sizes(cache, 0, 0);
  }
}

TEST_CASE("of two requests that computed one prefix, the later one reads the pages that stay") {
  CacheManager manager(plugins(), "radix", 16, 4);
  Running first = manager.begin(tokens(10)), second = manager.begin(tokens(10));
  CHECK(first.row != second.row);
  manager.cache(first, false);
  const SlotList own = second.row;
  manager.cache(second, false);
  CHECK(std::equal(first.row.begin(), first.row.begin() + 8, second.row.begin()));
  CHECK(std::equal(own.begin() + 8, own.end(), second.row.begin() + 8));
  // Another request may have the pages it gave up, and none of them is in its row any more.
  const auto others = manager.prefixes().slots_of(manager.allocate(manager.free_pages()));
  for (const Slot slot : second.row) CHECK(std::count(others.begin(), others.end(), slot) == 0);
}

// Other promises of its interface.

TEST_CASE("a handle that was evicted before it was locked gets an error") {
  PrefixCache cache(plugins(), "radix", 1);
  Handle handle = cache.insert_prefix(tokens(8), slots(1, 8, 1)).handle;
  CHECK_THROWS_WITH_AS(cache.matched_slots(handle), "cannot return the slots of 8 tokens: their prefix is not locked",
                       CacheError);
  cache.evict(8);
  CHECK_THROWS_WITH_AS(cache.lock_handle(handle), "cannot lock a handle of 8 tokens: only 0 of them are still cached",
                       CacheError);
  CHECK(!handle.is_locked());
}

TEST_CASE("a match changes nothing, not even the next victim") {
  PrefixCache cache(plugins(), "radix", 1);
  cache.insert_prefix(tokens(2, 10), slots(1, 2, 1));
  cache.insert_prefix(tokens(2, 20), slots(3, 2, 1));
  CHECK(cache.match_prefix(tokens(2, 10)).cached_len() == 2);
  CHECK(cache.evict(1) == slots(1, 2, 1));
}

TEST_CASE("the naive cache is the same class over the index that remembers nothing") {
  CacheManager manager(plugins(), "null", 8, 4);
  Running request = manager.begin(tokens(10));
  manager.cache(request, false);
  CHECK(request.handle.cached_len() == 0);
  CHECK(manager.prefixes().match_prefix(tokens(10)).cached_len() == 0);
  CHECK(manager.prefixes().evict(0).empty());
  CHECK_THROWS_AS(manager.prefixes().evict(1), CacheError);
  manager.cache(request, true);
  CHECK(manager.free_pages() == 8);
  manager.check_integrity();
}

TEST_CASE("a reset gives every slot back, and is refused while a prefix is locked") {
  PrefixCache cache(plugins(), "radix", 4);
  Handle handle = cache.insert_prefix(tokens(8), slots(1, 8, 4)).handle;
  cache.lock_handle(handle);
  CHECK_THROWS_WITH_AS(cache.reset(), "cannot reset a cache with 8 locked tokens", CacheError);
  cache.lock_handle(handle, true);
  CHECK(cache.reset() == slots(1, 8, 4));
  check_sizes(cache, 0, 0);
}

TEST_CASE("slots that are no whole pages are refused, and nothing has changed") {
  PrefixCache cache(plugins(), "radix", 4);
  CHECK_THROWS_WITH_AS(cache.insert_prefix(tokens(4), SlotList{5, 6, 7, 8}),
                       "found slot 5, expected slot 4 in a page of 4", CacheError);
  CHECK_THROWS_WITH_AS(cache.insert_prefix(tokens(8), SlotList{4, 5, 6, 7}), "cannot insert 8 tokens with 4 slots",
                       CacheError);
  check_sizes(cache, 0, 0);
}

TEST_CASE("an index that no plugin offers is a sentence with the nearest name") {
  CHECK_THROWS_WITH_AS(PrefixCache(plugins(), "radx", 1), doctest::Contains("Did you mean 'radix'?"), CacheError);
}

// Pages after an eviction. Its free list keeps the first slot of each page, which an eviction that answers in slots
// can upset; ours keeps page numbers, which cannot be off by a part of a page. What it must hold is the same.

TEST_CASE("pages: what is allocated after an eviction is whole pages of the pool") {
  CacheManager manager = full_pool(4, 4, 2);
  const auto got = manager.allocate(1);
  CHECK(got.size() == 1);
  CHECK(manager.prefixes().pages_of(manager.prefixes().slots_of(got)) == got);
  for (const Page page : got) CHECK((page >= 1 && page <= 4));
}

TEST_CASE("pages: allocations one after the other after an eviction do not overlap") {
  CacheManager manager = full_pool(4, 4, 2);
  std::vector<Page> got = manager.allocate(1);
  got.push_back(manager.allocate(1)[0]);
  check_apart(manager.prefixes(), got);
}

TEST_CASE("pages: what an eviction freed and no request took is free, in whole pages") {
  CacheManager manager = full_pool(8, 8, 4);
  std::vector<Page> got = manager.allocate(1);
  CHECK(manager.free_pages() == 3);
  const auto rest = manager.allocate(3);
  got.insert(got.end(), rest.begin(), rest.end());
  check_apart(manager.prefixes(), got);
}

TEST_CASE("pages: as many as were asked for come from an eviction") {
  CacheManager manager = full_pool(4, 4, 3);
  const auto got = manager.allocate(2);
  CHECK(got.size() == 2);
  check_apart(manager.prefixes(), got);
  CHECK(manager.allocate(1).size() == 1);
  CHECK_THROWS_AS(manager.allocate(1), CacheError);
}

TEST_CASE("pages: each stands for as many slots in a row as a page has") {
  CacheManager manager = full_pool(4, 4, 2);
  const auto got = manager.allocate(2);
  const auto all = manager.prefixes().slots_of(got);
  REQUIRE(all.size() == 8);
  for (std::size_t i = 0; i < all.size(); ++i) CHECK(all[i] == got[i / 4] * 4 + i % 4);
}

TEST_CASE("pages: none is missing after requests, a full pool and an eviction") {
  CacheManager manager(plugins(), "radix", 8, 4);
  Running request = manager.begin(tokens(8));
  manager.cache(request, true);
  CHECK(manager.free_pages() == 6);
  manager.check_integrity();
  Running large = manager.begin(tokens(28, 500));
  CHECK(manager.prefixes().size_info().total() == 0);
  manager.cache(large, true);
  manager.check_integrity();
  CHECK(manager.prefixes().size_info().evictable == 28);
}
