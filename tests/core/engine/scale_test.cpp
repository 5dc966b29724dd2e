#include <pthread.h>
#include <sys/resource.h>

#include <functional>

#include <canopy/base/random.h>
#include <support/engines.h>
#include <support/sanitizers.h>

using namespace canopy;
using namespace canopy::test;

namespace {

constexpr std::size_t kStack =
    kSanitized ? std::size_t{2} << 20 : std::size_t{256} << 10;  // sanitized frames are large
constexpr Units kMillion = kSanitized ? 100'000 : 1'000'000;

/// Runs `work` on a thread with a small stack: whatever recurses on the depth of its data dies here.
void on_small_stack(const std::function<void()>& work) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  REQUIRE(pthread_attr_setstacksize(&attributes, kStack) == 0);
  pthread_t thread;
  REQUIRE(pthread_create(
              &thread, &attributes,
              [](void* argument) -> void* {
                (*static_cast<const std::function<void()>*>(argument))();
                return nullptr;
              },
              const_cast<void*>(static_cast<const void*>(&work))) == 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

struct Tree {
  explicit Tree(Units page_size, const char* index_options = "{}", std::uint64_t capacity = kUnlimited) {
    lru = *plugins().make<EvictionStrategy>("lru", {});
    group.eviction = lru.get();
    group.capacity = capacity;
    index = *plugins().make<PrefixIndex>("radix", {page_size, 0, {&group, 1}}, index_options);
  }
  Lock insert(const Lock& lock, std::span<const Token> words, Units page_size) {
    pages.resize((words.size() - lock.length) / page_size);
    std::iota(pages.begin(), pages.end(), next);
    next += static_cast<Page>(pages.size());
    GroupPages brought{};
    brought[0] = pages;
    return index->insert(lock, {NamespaceId::shared, words}, brought, {}).lock;
  }
  std::shared_ptr<EvictionStrategy> lru;
  Group group;
  std::shared_ptr<PrefixIndex> index;
  std::vector<Page> pages;
  Page next = 1;
};

}  // namespace

TEST_CASE("a chain of a million one-page nodes is walked, locked, visited, evicted and destroyed on a small stack") {
  std::uint64_t matched = 0, visited = 0, freed = 0, rest = 0;
  on_small_stack([&] {
    Tree tree(1);
    const auto words = tokens(1, kMillion);
    Lock lock;
    for (Units end = 1; end <= kMillion; ++end) lock = tree.insert(lock, std::span<const Token>(words).first(end), 1);
    tree.index->release(lock);
    lock = tree.index->match({NamespaceId::shared, words}, {});
    matched = lock.length;
    tree.index->release(lock);
    struct Count final : NodeVisitor {
      std::uint64_t nodes = 0;
      void node(const NodeView&) override { ++nodes; }
    } count;
    tree.index->visit(count);
    visited = count.nodes;
    freed = tree.index->evict(0, kMillion / 2)[0].size();
    rest = tree.index->flush(NamespaceId::shared)[0].size();
  });
  CHECK(matched == kMillion);
  CHECK(visited == kMillion);
  CHECK(freed == kMillion / 2);
  CHECK(rest == kMillion / 2);
}

TEST_CASE("a million children under one node") {
  Tree tree(1);
  std::vector<Token> words(2);
  for (Units child = 0; child < kMillion; ++child) {
    words = {7, child + 1000};
    tree.index->release(tree.insert({}, words, 1));
  }
  CHECK(tree.index->use().nodes == kMillion + 1);
  words = {7, kMillion / 2 + 1000};
  CHECK(tree.index->peek({NamespaceId::shared, words}).length == 2);
  CHECK(tree.index->evict(0, kMillion + 1)[0].size() == kMillion + 1);
  CHECK(tree.index->use().nodes == 0);
}

TEST_CASE("a prompt of ten million tokens, and a hundred thousand splits of it") {
  constexpr Units kTokens = kMillion * 10, kSplits = kMillion / 10, kPage = 4;
  Tree tree(kPage);
  auto words = tokens(1, kTokens);
  tree.index->release(tree.insert({}, words, kPage));
  const std::uint64_t bytes = tree.index->use().bytes;
  CHECK(bytes < std::uint64_t{kTokens} * 4 + kTokens / kPage * 4 + (std::uint64_t{8} << 20));
  // Each insert continues below the last one's lock and ends a page further on: it cuts what is there.
  Lock lock;
  for (Units i = 1; i <= kSplits; ++i) {
    lock = tree.insert(lock, std::span<const Token>(words).first(i * kPage), kPage);
    REQUIRE(lock.length == i * kPage);
  }
  tree.index->release(lock);
  CHECK(tree.index->use().nodes == kSplits + 1);
  CHECK(tree.index->use().bytes < bytes + kSplits * std::uint64_t{240});  // nodes and their places, no token twice
  CHECK(tree.index->peek({NamespaceId::shared, words}).length == kTokens);
}

TEST_CASE("a million empty namespaces cost little more than a counter each") {
  Tree tree(1);
  const auto words = tokens(1, 4);
  for (std::uint32_t space = 0; space < kMillion; ++space) {
    const Key key{static_cast<NamespaceId>(space), words};
    const std::vector<Page> pages{1, 2, 3, 4};
    GroupPages brought{};
    brought[0] = pages;
    tree.index->release(tree.index->insert({}, key, brought, {}).lock);
    REQUIRE(tree.index->flush(static_cast<NamespaceId>(space))[0].size() == 4);
  }
  CHECK(tree.index->use().nodes == 0);
  CHECK(tree.index->use().bytes < std::uint64_t{kMillion} * 128 + (std::uint64_t{4} << 20));
}

TEST_CASE("memory of a burst goes back to the system after its eviction") {
  Tree tree(16);
  std::vector<Token> words(4096);
  for (Token request = 0; request < 4000; ++request) {
    std::iota(words.begin(), words.end(), request * 5000);
    tree.index->release(tree.insert({}, words, 16));
  }
  const std::uint64_t full = tree.index->use().bytes;
  CHECK(full < 4000 * (4096 * 4 + 256 * 4 + 160) * std::uint64_t{11} / 10);
  tree.index->evict(0, 4000 * 256 * 97 / 100);
  tree.index->evict(0, 0);  // the large result is no longer needed
  const Sizes left = tree.index->sizes(0);
  // The slots of nodes that left stay for those to come.
  CHECK(tree.index->use().bytes < (left.evictable * 4 + left.evictable / 4) * 5 / 4 + 4000 * 160 + (1U << 20));
}

TEST_CASE("the node storage for a full pool is reserved at the start and stays through clear() by default") {
  constexpr std::uint64_t kTokens = 4'000'000, kStorage = kTokens * 4 + kTokens / 16 * 4;
  Tree plain(16, "{ prefault: false }", kTokens), ahead(16, "{}", kTokens);
  CHECK(plain.index->use().bytes < kStorage / 10);
  CHECK(ahead.index->use().bytes > kStorage);
  CHECK(ahead.index->use().bytes < kStorage * 5 / 4);
  std::vector<Token> words(4096);
  for (Token request = 0; request < 900; ++request) {
    std::iota(words.begin(), words.end(), request * 5000);
    ahead.index->release(ahead.insert({}, words, 16));
  }
  ahead.index->evict(0, 900 * 256);
  CHECK(ahead.index->use().nodes == 0);
  CHECK(ahead.index->use().bytes > kStorage);
  ahead.index->clear();
  CHECK(ahead.index->use().bytes > kStorage);
  const Tree wish(16, "{}", std::uint64_t{1} << 45);
  CHECK(wish.index->use().bytes >= std::uint64_t{256} << 20);
  CHECK(wish.index->use().bytes < std::uint64_t{260} << 20);
}

TEST_CASE("a full pool takes no memory from the system for what it evicts and fills again") {
  constexpr Units kTokens = 400'000, kPage = 16;
  Tree tree(kPage, "{}", kTokens);
  std::vector<Token> words(60'000);
  Random prng(7);
  const auto fill_again = [&](Units requests) {
    rusage before, after;
    getrusage(RUSAGE_THREAD, &before);
    for (Units request = 0; request < requests; ++request) {
      const Units length = prng.below(20) == 0 ? 60'000 : 600 + static_cast<Units>(prng.below(12'000));
      const std::span<Token> prompt = std::span(words).first(length / kPage * kPage);
      std::iota(prompt.begin(), prompt.end(), static_cast<Token>(prng.below(1U << 30)));
      if (const std::uint64_t used = tree.index->sizes(0).evictable; used + prompt.size() > kTokens)
        tree.index->evict(0, (used + prompt.size() - kTokens) / kPage + 1);
      tree.index->release(tree.insert({}, prompt, kPage));
    }
    getrusage(RUSAGE_THREAD, &after);
    return after.ru_minflt - before.ru_minflt;
  };
  fill_again(300);
  CHECK(fill_again(600) < 600);  // words and page numbers are some ten system pages a request
}

TEST_CASE("what freed storage keeps in memory follows keep_free") {
  const auto bytes_after_half = [](const char* options) {
    Tree tree(16, options);
    std::vector<Token> words(4096);
    for (Token request = 0; request < 4000; ++request) {
      std::iota(words.begin(), words.end(), request * 5000);
      const Lock lock = tree.insert({}, words, 16);
      if (request % 2 == 0) tree.index->release(lock);  // gaps between those that are held
    }
    tree.index->evict(0, 2000 * 256);
    return tree.index->use().bytes;
  };
  const std::uint64_t half = std::uint64_t{2000} * (4096 * 4 + 256 * 4);
  CHECK(bytes_after_half("{ keep_free: 100 }") > half + half * 3 / 4);
  CHECK(bytes_after_half("{ keep_free: 0 }") < half + half / 2);
}

TEST_CASE("what storage gives back does not depend on how often it was used before") {
  const auto bytes_after_rest = [](Token rounds) {
    Tree tree(16, "{ keep_free: 15, prefault: false }");
    std::vector<Token> words(4096);
    // Filled and emptied: what is freed becomes one with its neighbours, and is handed out again.
    for (Token request = 0; request < rounds * 100; ++request) {
      std::iota(words.begin(), words.end(), request * 5000);
      tree.index->release(tree.insert({}, words, 16));
      if (request % 100 == 99) tree.index->evict(0, 90 * 256);
    }
    for (Token request = 0; request < 600; ++request) {
      std::iota(words.begin(), words.end(), (request + 1'000'000) * 4096);
      const Lock lock = tree.insert({}, words, 16);
      if (request % 2 == 0) tree.index->release(lock);  // gaps between those that are held
    }
    tree.index->evict(0, 1'000'000);
    return tree.index->use().bytes;
  };
  const std::uint64_t held = std::uint64_t{300} * (4096 * 4 + 256 * 4);
  CHECK(bytes_after_rest(0) < held * 15 / 10);
  CHECK(bytes_after_rest(10) < held * 15 / 10);
}

TEST_CASE("little of what freed storage keeps is given back at once, since the next insert would fault it in again") {
  Tree tree(16, "{ keep_free: 30, prefault: false }");
  std::vector<Token> words(4096);
  for (Token request = 0; request < 2000; ++request) {
    std::iota(words.begin(), words.end(), request * 5000);
    const Lock lock = tree.insert({}, words, 16);
    if (request % 2 == 0) tree.index->release(lock);  // gaps between those that are held
  }
  std::uint64_t before = tree.index->use().bytes, most = 0;
  for (int i = 0; i < 100; ++i) {
    tree.index->evict(0, 10 * 256);
    const std::uint64_t now = tree.index->use().bytes;
    most = std::max(most, before - std::min(before, now));
    before = now;
  }
  const std::uint64_t stays = std::uint64_t{1000} * (4096 * 4 + 256 * 4);
  CHECK(before < stays * 15 / 10);
  CHECK(most < stays * 2 * 30 / 100 / 4);
}
