// hash_chain beside vLLM's block pool, written down again in the plainest way: whole prefixes as keys, one queue.
#include <conformance/model/index_walk.h>
#include <conformance/model/plugins.h>
#include <conformance/model/random_ops.h>

#include <canopy/prefix_index.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <set>
#include <vector>

namespace {

using namespace canopy;
using namespace canopy::test;
using Words = std::vector<std::uint32_t>;

/// All blocks of a pool are in one queue when no request has them, those that no prefix names at its front. A new block
/// is the first of the queue, and forgets its prefix then.
class Pool {
 public:
  Pool(Page pages, std::size_t page) : page_(page) {
    for (Page block = 1; block <= pages; ++block) queue_.push_back(block);
  }
  std::size_t free() const { return queue_.size(); }
  std::size_t cached_free() const {
    return static_cast<std::size_t>(std::ranges::count_if(queue_, [&](Page block) { return names_.contains(block); }));
  }
  std::vector<Page> find(const Words& prompt) const {
    std::vector<Page> row;
    for (std::size_t end = page_; end <= prompt.size(); end += page_) {
      const auto at = cached_.find(Words(prompt.begin(), prompt.begin() + static_cast<std::ptrdiff_t>(end)));
      if (at == cached_.end()) break;
      row.push_back(at->second.front());
    }
    return row;
  }
  void touch(const std::vector<Page>& row) {
    for (const Page block : row)
      if (users_[block]++ == 0) std::erase(queue_, block);
  }
  /// A block that is free; `left` gets it if it was cached.
  Page take(std::vector<Page>& left) {
    const Page block = queue_.front();
    queue_.pop_front();
    if (const auto named = names_.find(block); named != names_.end()) {
      left.push_back(block);
      auto& twins = cached_[named->second];
      std::erase(twins, block);
      if (twins.empty()) cached_.erase(named->second);
      names_.erase(named);
    }
    users_[block] = 1;
    return block;
  }
  void cache(const Words& tokens, const std::vector<Page>& row, std::size_t from, std::size_t until) {
    for (std::size_t i = from; i < until; ++i) {
      Words name(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>((i + 1) * page_));
      cached_[name].push_back(row[i]);
      names_[row[i]] = std::move(name);
    }
  }
  void release(const std::vector<Page>& row) {
    std::vector<Page> plain;
    for (auto block = row.rbegin(); block != row.rend(); ++block) {
      if (--users_[*block] > 0) continue;
      if (names_.contains(*block)) queue_.push_back(*block);
      else plain.push_back(*block);
    }
    queue_.insert(queue_.begin(), plain.begin(), plain.end());
  }

 private:
  std::size_t page_;
  std::deque<Page> queue_;
  std::map<Page, std::uint32_t> users_;
  std::map<Words, std::vector<Page>> cached_;  ///< blocks in the order they came
  std::map<Page, Words> names_;
};

struct Running {
  Words tokens;
  std::vector<Page> row;
  std::size_t cached = 0;  ///< blocks of the row that a prefix names
  Lock lock;
};

struct Reached {
  std::size_t hits = 0, evicted = 0, twins = 0, refused = 0;
};

/// Random requests that overlap, through a pool and the index, whose pages come from a queue like the pool's.
Reached run(std::uint64_t seed, Units page, Page pages) {
  const auto policy = make<EvictionStrategy>("lru", {});
  const std::array groups{Group{"full", kWholePath, kUnlimited, policy.get()}};
  const auto index = make<PrefixIndex>("hash_chain", {page, 0, groups});
  std::mt19937_64 random(seed);
  const auto below = [&](std::size_t end) { return static_cast<std::size_t>(random() % end); };
  Pool pool(pages, page);
  std::deque<Page> unused;
  for (Page block = 1; block <= pages; ++block) unused.push_back(block);
  std::vector<Running> running;
  Reached reached;

  const auto grow = [&](Running& request, std::size_t tokens) {  // false: no room, and nothing has changed
    const std::size_t more = (tokens + page - 1) / page - std::min(request.row.size(), (tokens + page - 1) / page);
    if (more > pool.free()) return ++reached.refused, false;
    std::vector<Page> left, given;
    for (std::size_t i = 0; i < more; ++i) request.row.push_back(pool.take(left));
    while (given.size() < more && !unused.empty()) given.push_back(unused.front()), unused.pop_front();
    const auto evicted = index->evict(0, more - given.size())[0];
    REQUIRE(std::ranges::equal(evicted, left));
    reached.evicted += left.size();
    given.insert(given.end(), evicted.begin(), evicted.end());
    REQUIRE(std::ranges::equal(given, std::span(request.row).last(more)));
    return true;
  };
  const auto commit = [&](Running& request, std::size_t tokens) {
    const std::size_t until = tokens / page;
    if (until <= request.cached) return;
    if (pool.find(request.tokens).size() > request.cached) ++reached.twins;
    pool.cache(request.tokens, request.row, request.cached, until);
    const auto brought = std::span<const Page>(request.row).subspan(request.cached, until - request.cached);
    const Inserted inserted = index->insert(
        request.lock, {NamespaceId::shared, std::span(request.tokens).first(until * page)}, {brought}, {});
    CHECK(inserted.spare[0].empty());
    request.lock = inserted.lock;
    request.cached = until;
    REQUIRE(std::ranges::equal(index->pages(request.lock)[0], std::span(request.row).first(until)));
  };
  const auto end = [&](std::size_t which) {
    Running& request = running[which];
    // Blocks that no prefix names go to the front, the last block first.
    std::vector<Page> plain(request.row.begin() + static_cast<std::ptrdiff_t>(request.cached), request.row.end());
    std::ranges::reverse(plain);
    unused.insert(unused.begin(), plain.begin(), plain.end());
    pool.release(request.row);
    index->release(request.lock);
    running.erase(running.begin() + static_cast<std::ptrdiff_t>(which));
  };

  for (int step = 0; step < 3'000; ++step) {
    if (running.size() < 6 && below(3) == 0) {
      Running request;
      for (std::size_t left = 1 + below(12 * page); left > 0; --left)
        request.tokens.push_back(below(8) == 0 ? static_cast<std::uint32_t>(below(3)) : 0);
      const Words usable(request.tokens.begin(), request.tokens.end() - 1);
      request.row = pool.find(usable);
      pool.touch(request.row);
      CHECK(index->peek({NamespaceId::shared, usable}).length == request.row.size() * page);
      request.lock = index->match({NamespaceId::shared, usable}, {});
      request.cached = request.row.size();
      reached.hits += request.cached;
      REQUIRE(std::ranges::equal(index->pages(request.lock)[0], request.row));
      running.push_back(std::move(request));
      if (!grow(running.back(), running.back().tokens.size())) end(running.size() - 1);
    } else if (!running.empty()) {
      const std::size_t which = below(running.size());
      Running& request = running[which];
      if (const std::size_t what = below(4); what == 0) {
        commit(request, request.tokens.size());
        end(which);
      } else if (what == 1) {
        commit(request, below(request.tokens.size() + 1));
      } else if (what == 2 && grow(request, request.tokens.size() + 1)) {
        request.tokens.push_back(static_cast<std::uint32_t>(below(2)));
      } else if (below(6) == 0) {
        end(which);
      }
    }
    const Sizes sizes = index->sizes(0);
    REQUIRE(sizes.evictable == pool.cached_free() * page);
    REQUIRE(unused.size() + sizes.evictable / page == pool.free());
    if (step % 100 != 0) continue;
    const std::vector<WalkedNode> nodes = walk(*index);
    std::set<Page> shown;
    for (const WalkedNode& node : nodes) shown.insert(node.pages[0].at(0));
    REQUIRE(nodes.size() == shown.size());
    REQUIRE(nodes.size() == index->use().nodes);
    REQUIRE(nodes.size() == (sizes.evictable + sizes.protected_) / page);
  }
  while (!running.empty()) end(0);
  CHECK(index->evict(0, pages)[0].size() + unused.size() == pages);
  CHECK(index->use().nodes == 0);
  CHECK(index->use().refused == 0);
  return reached;
}

}  // namespace

TEST_CASE("hash_chain finds, gives and evicts the blocks that vLLM's pool does, those computed twice among them") {
  Reached all;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    CAPTURE(seed);
    const Reached reached = run(seed, seed % 3 == 0 ? 1 : 4, seed % 2 == 0 ? 30 : 150);
    all.hits += reached.hits, all.evicted += reached.evicted, all.twins += reached.twins;
    all.refused += reached.refused;
  }
  CHECK(all.hits > 5'000);
  CHECK(all.evicted > 2'000);
  CHECK(all.twins > 200);
  CHECK(all.refused > 50);
}

TEST_CASE("hash_chain does what the models say where it shares what is computed twice") {
  std::uint64_t seed = 700;
  for (const Units page_size : {1U, 4U, 16U})
    for (const Units overlap : {0U, 1U}) {
      WorldConfig config;
      config.index = "hash_chain", config.options = "{ duplicates: share }", config.page_size = page_size;
      config.overlap = overlap, config.namespaces = 3, config.walk_every = 200;
      const Program program = random_program(++seed, config, 10'000);
      if (const auto failure = run_program(program)) FAIL(report(program, *failure));
    }
}

TEST_CASE("hash_chain takes another policy only if that has its order") {
  const auto lru = make<EvictionStrategy>("lru", {}), next = make<EvictionStrategy>("lru", {});
  auto lfu = make<EvictionStrategy>("lfu", {});
  const std::array groups{Group{"full", kWholePath, kUnlimited, lru.get()}};
  const auto index = make<PrefixIndex>("hash_chain", {1, 0, groups});
  CHECK_FALSE(index->use_policy(0, lfu.get()));
  lfu.reset();  // it is not called any more
  const Words words{1, 2, 3};
  const std::array<Page, 3> pages{1, 2, 3};
  const RequestFacts request;
  index->release(index->insert({}, {NamespaceId::shared, words}, {pages}, {}).lock, &request);
  CHECK(index->use_policy(0, next.get()));
  CHECK(index->evict(0, 1)[0].front() == 3);
}

TEST_CASE("hash_chain says what it cannot serve") {
  const auto lru = make<EvictionStrategy>("lru", {}), window = make<EvictionStrategy>("lru", {});
  const auto refused = [](const PrefixIndex::Context& context) {
    const auto made = plugins().make<PrefixIndex>("hash_chain", context, {});
    return made ? std::string() : made.error().text;
  };
  for (const char* name : {"lfu", "fifo", "filo", "mru", "slru", "priority"}) {
    CAPTURE(name);
    const auto policy = make<EvictionStrategy>(name, {});
    const std::array groups{Group{"full", kWholePath, kUnlimited, policy.get()}};
    CHECK(refused({1, 0, groups}).find("the group's policy must be lru") != std::string::npos);
  }
  const std::array two{Group{"full", kWholePath, kUnlimited, lru.get()}, Group{"window", 8, kUnlimited, window.get()}};
  CHECK(refused({1, 0, two}).find("one KV cache group") != std::string::npos);
  CHECK(refused({1, 0, std::span(two).last(1)}).find("one KV cache group") != std::string::npos);
  CHECK(refused({1, 0, std::span(two).first(1)}).empty());
}
