/// Orders of waiting requests that SGLang's SchedulePolicy gave: tests/peers/sglang_schedule writes them and runs
/// this.
#include <canopy/base/random.h>
#include <canopy/engine/waiting_order.h>
#include <canopy/prefix_index.h>
#include <conformance/model/plugins.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

namespace {

using namespace canopy;
using namespace canopy::test;

template <class T>
std::vector<T> rest_of(std::istream& line) {
  return {std::istream_iterator<T>(line), {}};
}

/// A cache and the requests that wait for it.
class Recorded {
 public:
  explicit Recorded(std::istream& line) : policy_(make<EvictionStrategy>("lru", {})) {
    Units page = 0;
    std::string schedule;
    std::uint32_t priorities = 0;
    REQUIRE(static_cast<bool>(line >> page >> schedule >> priorities >> processed_));
    const auto names = all_names<scheduling::Schedule>();
    const auto named = std::ranges::find(names, schedule);
    REQUIRE((named != names.end()));
    rules_.schedule = static_cast<scheduling::Schedule>(named - names.begin());
    rules_.priorities = static_cast<scheduling::Priorities>(priorities);
    group_[0] = {"full", kWholePath, kUnlimited, policy_.get()};
    index_ = make<PrefixIndex>("radix", {page, 0, group_}, "{ accounting: sglang_unified }");
    page_ = page;
  }

  void insert(std::istream& line) {
    std::uint32_t space = 0;
    REQUIRE(static_cast<bool>(line >> space));
    const auto words = rest_of<std::uint32_t>(line);
    const Key key{NamespaceId{space}, words};
    Lock lock = index_->match(key, {});
    if (words.size() >= page_) {
      std::vector<Page> pages((words.size() - lock.length) / page_);
      std::iota(pages.begin(), pages.end(), next_);
      next_ += static_cast<Page>(pages.size());
      lock = index_->insert(lock, key, {pages}, {}).lock;
    }
    index_->release(lock);
  }

  void wait(std::istream& line) {
    scheduling::Waiter waiter;
    std::uint32_t space = 0;
    REQUIRE(static_cast<bool>(line >> waiter.id >> waiter.arrival >> waiter.priority >> waiter.output_limit >>
                              waiter.processed >> waiter.prompt >> space));
    waiter.space = NamespaceId{space};
    waiters_.push_back(waiter);
    tokens_.push_back(rest_of<Token>(line));
  }

  std::vector<std::uint32_t> order() {
    for (std::size_t i = 0; i < waiters_.size(); ++i) {
      scheduling::Waiter& waiter = waiters_[i];
      waiter.tokens = tokens_[i];
      if (!scheduling::reads_cache(rules_, waiters_.size())) continue;
      const Found found = index_->find({waiter.space, waiter.tokens});
      waiter.found = found.length;
      waiter.usable = std::min(found.length, static_cast<Units>(waiter.tokens.size() - 1));
      waiter.node = found.node;
    }
    return scheduling::waiting_order(waiters_, rules_, processed_,
                                     [&](std::span<const NodeId> ends, std::span<std::uint32_t> into) {
                                       index_->scheduling()->order_by_weight(ends, into);
                                     });
  }

 private:
  std::shared_ptr<EvictionStrategy> policy_;
  std::array<Group, 1> group_;
  std::shared_ptr<PrefixIndex> index_;
  scheduling::Rules rules_;
  std::uint64_t processed_ = 0;
  Units page_ = 1;
  Page next_ = 1;
  std::vector<scheduling::Waiter> waiters_;
  std::vector<std::vector<Token>> tokens_;
};

}  // namespace

TEST_CASE("orders of waiting requests that SGLang recorded") {
  const char* const path = std::getenv("CANOPY_SCHEDULES");
  if (!path) {
    MESSAGE("SKIPPED: CANOPY_SCHEDULES names no file; tests/peers/sglang_schedule makes one");
    return;
  }
  std::ifstream file(path);
  REQUIRE(file.is_open());
  std::unique_ptr<Recorded> recorded;
  std::size_t queues = 0, different = 0, number = 0;
  for (std::string text; std::getline(file, text);) {
    ++number;
    std::istringstream line(text);
    std::string word;
    line >> word;
    if (word == "queue") recorded = std::make_unique<Recorded>(line);
    REQUIRE_MESSAGE(recorded != nullptr, "line " << number << " comes before a queue");
    if (word == "insert") recorded->insert(line);
    if (word == "wait") recorded->wait(line);
    if (word != "order") continue;
    ++queues;
    const bool equal = recorded->order() == rest_of<std::uint32_t>(line);
    different += !equal;
    if (different <= 5) CHECK_MESSAGE(equal, path << ":" << number << ": another order than SGLang's");
  }
  MESSAGE(queues << " queues, " << different << " in another order than SGLang's");
  CHECK(queues > 0);
  CHECK(different == 0);
}

TEST_CASE("a thousand requests of 8 k tokens are found and ordered by their match") {
  constexpr std::size_t kRequests = 1000, kTokens = 8192;
  constexpr Units kPage = 16;
  const auto policy = make<EvictionStrategy>("lru", {});
  const std::array<Group, 1> group{Group{"full", kWholePath, kUnlimited, policy.get()}};
  const auto index = make<PrefixIndex>("radix", {kPage, 0, group});
  // Ten families share 2 k tokens, and the cache has each request up to another page.
  Random random(1);
  std::vector<std::vector<Token>> tokens(kRequests, std::vector<Token>(kTokens));
  Page next = 1;
  for (std::size_t i = 0; i < kRequests; ++i) {
    for (std::size_t t = 0; t < kTokens; ++t)
      tokens[i][t] = t < 2048 ? static_cast<Token>(i % 10 * 100'000 + t) : random.below(100'000);
    std::vector<Page> pages(128 + random.below(384));
    std::iota(pages.begin(), pages.end(), next);
    next += static_cast<Page>(pages.size());
    const std::span<const Token> known = std::span(tokens[i]).first(pages.size() * kPage);
    index->release(index->insert({}, {NamespaceId::shared, known}, {pages}, {}).lock);
  }
  const scheduling::Rules rules{.schedule = scheduling::Schedule::lpm, .most_matched = 0};
  std::vector<scheduling::Waiter> waiters;
  std::vector<std::uint32_t> order;
  double best = 0;
  for (int round = 0; round < 5; ++round) {
    const auto start = std::chrono::steady_clock::now();
    waiters.clear();
    for (const std::vector<Token>& prompt : tokens) {
      scheduling::Waiter waiter;
      waiter.tokens = prompt;
      const Found found = index->find({NamespaceId::shared, std::span(prompt).first(kTokens - 1)});
      waiter.found = waiter.usable = found.length;
      waiter.node = found.node;
      waiters.push_back(waiter);
    }
    order = scheduling::waiting_order(waiters, rules, 0, {});
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    if (round == 0 || took.count() < best) best = took.count();
  }
  MESSAGE("1,000 requests of 8,192 tokens, page 16, found and ordered by lpm: " << best << " ms, the best of 5");
  REQUIRE(order.size() == kRequests);
  const auto deeper = [&](std::uint32_t a, std::uint32_t b) { return waiters[a].usable > waiters[b].usable; };
  CHECK(std::ranges::is_sorted(order, deeper));
  CHECK(waiters[order.front()].usable == 8176);
  CHECK(waiters[order.back()].usable >= 2048);
}
