#include <conformance/every.h>
#include <conformance/model/index_kind.h>
#include <conformance/model/index_walk.h>
#include <conformance/model/random_ops.h>
#include <conformance/spy.h>

#include <canopy/prefix_index.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace {

using namespace canopy;
using namespace canopy::test;

/// Runs a test over the indexes that keep nothing and those whose nodes are runs of pages. A table of blocks is left
/// out, because it may keep two pages for one prefix and has other nodes.
template <class Test>
void for_every_index_but_tables(Test&& test) {
  for_every<PrefixIndex>([&](const std::string& name) {
    const IndexKind kind = kind_of(name);
    if (kind.tree || !kind.remembers) test(name);
  });
}

/// Returns all that visit() and use() report, as text, ticks included.
std::string dump(const PrefixIndex& index) {
  std::string text = fmt::format("tick {}, {} refused\n", index.now(), index.use().refused);
  for (const WalkedNode& node : walk(index)) {
    const NodeFacts& f = node.facts;
    text += fmt::format("{} {} {} {} {} {} {} {} {} {} {} [{}] [{}] {}\n", static_cast<std::uint64_t>(f.id),
                        static_cast<std::uint64_t>(node.parent), f.begin, f.length, f.hits, f.inserts, f.children,
                        f.priority, f.created, f.last_access, node.locks[0], fmt::join(node.words, " "),
                        fmt::join(node.pages[0], " "), f.clock.now);
  }
  return text;
}

}  // namespace

// clang-format off
#define RUNS_CASE(title) CONTRACT(for_every_index_but_tables, (const std::string& name), title)
#define INDEX_CASE(title) CONTRACT(for_every<PrefixIndex>, (const std::string& name), title)
// clang-format on

TEST_SUITE_BEGIN("PrefixIndex");

RUNS_CASE("every index agrees with the models, or keeps nothing and returns all pages") {
  std::uint64_t seed = 100;
  for (const Units page_size : {1U, 3U, 8U})
    for (const Units overlap : {0U, 1U, 4U}) {
      WorldConfig config;
      config.index = name, config.page_size = page_size, config.overlap = overlap, config.namespaces = 3;
      config.walk_every = 100;
      config.tenants = overlap;
      const Program program = random_program(++seed, config, 3'000);
      if (const auto failure = run_program(program)) FAIL(report(program, *failure));
    }
}

INDEX_CASE("an index starts empty") {
  PolicyBench bench(name, 4, kUnlimited);
  CHECK(walk(*bench.index).empty());
  CHECK(bench.index->sizes(0).evictable + bench.index->sizes(0).protected_ == 0);
  CHECK(bench.index->sizes(0, NamespaceId{77}).evictable == 0);
  CHECK(bench.index->use().nodes == 0);
  CHECK(bench.index->evict(0, 100)[0].empty());
  CHECK(bench.index->flush(NamespaceId{5})[0].empty());
  CHECK(bench.index->clear()[0].empty());
  CHECK(bench.index->pages(Lock{})[0].empty());
}

INDEX_CASE("an empty lock covers nothing, and its release is not an error") {
  PolicyBench bench(name, 4, kUnlimited);
  const Lock lock = bench.index->match({NamespaceId::shared, std::vector<std::uint32_t>{1, 2, 3, 4}}, {});
  CHECK(lock.id == LockId::none);
  CHECK(lock.node == NodeId::none);
  CHECK(lock.length == 0);
  bench.index->release(lock);
  bench.index->release(lock);
  bench.index->release({});
  CHECK(bench.index->use().refused == 0);
}

INDEX_CASE("a peek changes nothing that can be seen, now or later") {
  const std::vector<std::uint32_t> words{1, 2, 3, 4, 5, 6, 7, 8, 9}, other{1, 2, 3, 4, 9, 9, 9, 9};
  std::array<std::string, 2> after;
  for (const bool peeking : {false, true}) {
    PolicyBench bench(name, 4, kUnlimited);
    const auto look = [&] {
      if (!peeking) return;
      const std::string before = dump(*bench.index);
      for (const auto& key : {words, other, {1, 2, 3, 4}, {}}) bench.index->peek({NamespaceId::shared, key});
      CHECK(dump(*bench.index) == before);
    };
    look();
    bench.index->release(bench.insert({}, words).lock);
    look();
    const Lock lock = bench.index->match({NamespaceId::shared, other}, {});
    look();
    bench.index->release(lock);
    bench.index->release(bench.insert({}, other).lock);
    look();
    bench.index->evict(0, 1);
    after[peeking] = dump(*bench.index);
  }
  CHECK(after[0] == after[1]);
}

INDEX_CASE("the pages from a depth on are the last ones of all pages, wherever nodes begin") {
  constexpr Units kPage = 4;
  PolicyBench bench(name, kPage, kUnlimited);
  std::vector<std::uint32_t> words(40);
  std::iota(words.begin(), words.end(), 1U);
  Lock lock;
  for (const std::size_t end : {8U, 12U, 40U}) lock = bench.insert(lock, std::span(words).first(end)).lock;
  const auto all = bench.index->pages(lock)[0];
  const std::vector<Page> expected(all.begin(), all.end());
  CHECK(expected.size() == lock.length / kPage);
  for (Units from = 0; from <= lock.length; from += kPage) {
    const auto rest = bench.index->pages(lock, from)[0];
    CHECK(std::equal(rest.begin(), rest.end(), expected.begin() + from / kPage, expected.end()));
  }
  bench.index->release(lock);
}

INDEX_CASE("the node of a lock is the node in which its prefix ends: it can be held, and has the lock's pages") {
  PolicyBench bench(name, 2, kUnlimited);
  const auto check = [&](const Lock& lock, std::span<const std::uint32_t> words) {
    CAPTURE(words.size());
    CHECK(bench.index->find({NamespaceId::shared, words.first(lock.length)}).node == lock.node);
    const auto pages = bench.index->pages(lock)[0];
    const std::vector<Page> expected(pages.begin(), pages.end());
    CHECK(std::ranges::equal(bench.index->pages(lock.node)[0], expected));
    const Lock held = bench.index->hold(lock.node);
    CHECK(held.length == lock.length);
    CHECK(std::ranges::equal(bench.index->pages(held)[0], expected));
    bench.index->release(held);
    bench.index->release(lock);
  };
  // Prompts that differ in their first word, and in their length: an index that numbers its locks as they come and its
  // nodes as they come has other numbers for both.
  for (std::uint32_t first = 1; first < 9; ++first) {
    const std::vector<std::uint32_t> words{first, 2, 3, 4, 5, 6, 7, 8};
    const auto prompt = std::span(words).first(2 + 2 * (first % 4));
    check(bench.insert({}, prompt).lock, prompt);
  }
  for (std::uint32_t first = 8; first > 0; --first) {
    const std::vector<std::uint32_t> words{first, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    check(bench.index->match({NamespaceId::shared, words}, {}), words);
  }
}

INDEX_CASE("inserts without pages leave nothing behind, not even in namespaces of their own") {
  PolicyBench bench(name, 4, kUnlimited);
  for (std::uint32_t space = 1; space < 100; ++space) {
    const Lock lock = bench.index->insert({}, {NamespaceId{space}, std::vector<std::uint32_t>{1, 2, 3}}, {}, {}).lock;
    CHECK(lock.id == LockId::none);
  }
  CHECK(bench.index->use().nodes == 0);
  bench.index->release(bench.insert({}, std::vector<std::uint32_t>{1, 2, 3, 4}).lock);
  for (const WalkedNode& node : walk(*bench.index)) CHECK(slot_of(node.facts.id) < 10);
}

RUNS_CASE("an insert that brings a window alone makes a boundary, and returns no page that it did not bring") {
  const auto policy = make<EvictionStrategy>("lru", {});
  const std::array<Group, 2> groups{Group{"full", kWholePath, kUnlimited, policy.get()},
                                    Group{"window", 4, kUnlimited, policy.get()}};
  const auto index = make<PrefixIndex>(name, {2, 0, groups});
  const std::vector<std::uint32_t> words{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  const std::vector<Page> full{1, 2, 3, 4, 5, 6}, end{0, 0, 0, 0, 1, 2}, none{0, 0, 0}, window{0, 3, 4};
  index->release(index->insert({}, {NamespaceId::shared, words}, {full, end}, {}).lock);
  if (index->sizes(0).evictable == 0) return;  // it keeps nothing
  const Key key{NamespaceId::shared, std::span(words).first(6)};
  CHECK(index->peek(key).length == 0);
  CHECK(index->peek(key).full_length == 6);
  const Inserted inserted = index->insert({}, key, {none, window}, {});
  CHECK(inserted.lock.length == 6);
  CHECK(inserted.spare[0].empty());
  CHECK(inserted.spare[1].empty());
  const GroupPages pages = index->pages(inserted.lock);
  CHECK(std::ranges::equal(pages[0], std::span(full).first(3)));
  CHECK(std::ranges::equal(pages[1], window));
  CHECK(index->peek(key).length == 6);
  index->release(inserted.lock);
}

INDEX_CASE("a key that is shorter than its lock is refused, and nothing changes") {
  PolicyBench bench(name, 2, kUnlimited);
  const std::vector<std::uint32_t> words{1, 2, 3, 4, 5, 6};
  const Lock lock = bench.insert({}, words).lock;
  const Sizes sizes = bench.index->sizes(0);
  const Inserted refused = bench.index->insert(lock, {NamespaceId::shared, std::span(words).first(2)}, {}, {7, false});
  CHECK(refused.lock.id == lock.id);
  CHECK(refused.lock.length == lock.length);
  CHECK(refused.spare[0].empty());
  CHECK(bench.index->sizes(0).protected_ == sizes.protected_);
  std::uint32_t inserts = 0;
  for (const WalkedNode& node : walk(*bench.index)) {
    inserts += node.facts.inserts;
    CHECK(node.facts.priority == 0);
  }
  CHECK(inserts == (lock.length > 0 ? 1 : 0));
  bench.index->release(lock);
  CHECK(bench.index->sizes(0).protected_ == 0);
  CHECK(bench.index->use().refused == 0);
}

INDEX_CASE("relaxing a hold on a whole path to its whole path changes nothing") {
  PolicyBench bench(name, 2, kUnlimited);
  Inserted inserted = bench.insert({}, std::vector<std::uint32_t>{1, 2, 3, 4});
  const Sizes before = bench.index->sizes(0);
  bench.index->relax(inserted.lock, 0, 0);
  CHECK(bench.index->sizes(0).protected_ == before.protected_);
  CHECK(bench.index->sizes(0).evictable == before.evictable);
  bench.index->release(inserted.lock);
  CHECK(bench.index->use().refused == 0);
  CHECK(bench.index->sizes(0).protected_ == 0);
}

INDEX_CASE("the same calls give the same results, node numbers and ticks") {
  std::array<std::string, 2> dumps;
  for (std::string& text : dumps) {
    PolicyBench bench(name, 1, kUnlimited);
    std::vector<std::uint32_t> words;
    for (std::uint32_t i = 0; i < 300; ++i) {
      words.resize(i % 17);
      for (std::uint32_t k = 0; k < 9; ++k) words.push_back((i * k) % 5);
      bench.index->release(bench.insert({}, words).lock);
      if (i % 10 == 9) bench.index->evict(0, i % 20);
    }
    text = dump(*bench.index);
  }
  CHECK(dumps[0] == dumps[1]);
}

INDEX_CASE("a key that differs in one word matches up to that word") {
  PolicyBench bench(name, 1, kUnlimited);
  std::vector<std::uint32_t> words(300);
  for (std::uint32_t i = 0; i < words.size(); ++i) words[i] = i % 7;
  bench.index->release(bench.insert({}, words).lock);
  const bool keeps = bench.index->peek({.words = words}).length > 0;
  for (std::uint32_t i = 0; i < words.size(); ++i) {
    words[i] += 100;
    CHECK(bench.index->peek({.words = words}).length == (keeps ? i : 0));
    words[i] -= 100;
  }
}

INDEX_CASE("neither a chain of 100,000 nodes nor 100,000 children of one node is too much") {
  constexpr std::uint32_t kMany = 100'000;
  {
    PolicyBench chain(name, 1, kUnlimited);
    std::vector<std::uint32_t> words(kMany, 7);
    Lock lock;
    for (std::uint32_t i = 1; i <= kMany; ++i) {
      const Lock deeper = chain.insert(lock, std::span(words).first(i)).lock;
      if (deeper.length == 0) break;
      lock = deeper;
    }
    const std::uint64_t nodes = chain.index->use().nodes;
    CHECK((nodes == kMany || nodes == 0));
    chain.index->release(lock);
    CHECK(chain.index->evict(0, kMany)[0].size() == nodes);
  }
  PolicyBench star(name, 1, kUnlimited);
  for (std::uint32_t i = 0; i < kMany; ++i)
    star.index->release(star.insert({}, std::array<std::uint32_t, 2>{7, i}).lock);
  const std::uint64_t nodes = star.index->use().nodes;
  CHECK((nodes > kMany || nodes == 0));
  const std::uint64_t pages = star.index->sizes(0).evictable;
  CHECK(pages >= nodes);
  CHECK(star.index->flush(NamespaceId::shared)[0].size() == pages);
  CHECK(star.index->use().nodes == 0);
}

RUNS_CASE("a key of ten million tokens is one node, and half of it is two") {
  constexpr std::uint32_t kLong = 10'000'000;
  PolicyBench bench(name, 16, kUnlimited);
  std::vector<std::uint32_t> words(kLong);
  std::iota(words.begin(), words.end(), 1);
  bench.index->release(bench.insert({}, words).lock);
  const bool remembers = bench.index->use().nodes > 0;
  CHECK(bench.index->use().nodes == std::uint64_t{remembers});
  const Lock half = bench.index->match({NamespaceId::shared, std::span(words).first(kLong / 2 + 3)}, {});
  CHECK(half.length == (remembers ? kLong / 2 : 0));
  CHECK(bench.index->use().nodes == (remembers ? 2 : 0));
  bench.index->release(half);
  CHECK(bench.index->evict(0, 1)[0].size() == (remembers ? kLong / 32 : 0));
}

// Random keys of a few hundred words rarely diverge at one particular word; here they diverge at each word in turn.
INDEX_CASE("long keys agree up to the word at which they diverge, wherever that is") {
  constexpr Units kLong = 700;
  PolicyBench bench(name, 1, kUnlimited);
  std::vector<std::uint32_t> words(kLong);
  std::iota(words.begin(), words.end(), 1);
  bench.index->release(bench.insert({}, words).lock);
  if (bench.index->use().nodes == 0) return;
  for (Units at = 0; at < kLong; ++at) {
    words[at] += kLong;
    CHECK(bench.index->peek({NamespaceId::shared, words}).length == at);
    words[at] -= kLong;
  }
}

TEST_SUITE_END();
