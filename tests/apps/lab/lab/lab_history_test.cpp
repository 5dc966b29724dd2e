#include <conformance/model/effort.h>
#include <doctest/doctest.h>

#include <canopy/base/figures.h>
#include <numeric>

#include <lab/optimum.h>
#include <lab/prints.h>
#include <lab/stack.h>
#include <lab/trace.h>
#include <support/shared_folder.h>
#include <workload/trace_formats.h>
#include "lab_models.h"

using namespace canopy;
using namespace lab_models;

namespace {

std::uint64_t sum(const std::vector<Units>& hits) {
  return std::accumulate(hits.begin(), hits.end(), std::uint64_t{0});
}

}  // namespace

TEST_CASE("a history knows what each request asked for again, and from which request it was last") {
  const Prompts prompts{{1, 2, 3, 4}, {1, 2, 5}, {1, 2, 3, 4, 6}, {7}, {1, 2, 5, 8}};
  const lab::History history = history_of(prompts);
  const auto reuses = [&](std::uint32_t request) {
    std::vector<std::array<Units, 3>> all;
    for (const lab::Reuse& reuse : history.reuses(request)) all.push_back({reuse.begin, reuse.end, reuse.by});
    return all;
  };
  using All = std::vector<std::array<Units, 3>>;
  CHECK(reuses(0) == All{});
  CHECK(reuses(1) == All{{0, 2, 0}});
  CHECK(reuses(2) == All{{0, 2, 1}, {2, 4, 0}});
  CHECK(reuses(3) == All{});
  CHECK(reuses(4) == All{{0, 2, 2}, {2, 3, 1}});
  CHECK(history.distinct_units() == 8);
  CHECK(history.seen(4) == 3);
  // Request 2 continues request 0, request 4 request 1; 1 only begins as 0 does.
  CHECK(history.turn(0) == 1);
  CHECK(history.turn(1) == 1);
  CHECK(history.turn(2) == 2);
  CHECK(history.turn(4) == 2);
}

TEST_CASE("a history agrees with a set of prefixes on random traces, and names units as they are") {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const Prompts prompts = random_prompts(seed, 40, 12, 2);
    lab::History history;
    std::vector<std::uint64_t> prints;
    std::map<Prompt, std::size_t> last;
    std::map<Prompt, std::uint32_t> numbers;
    for (std::uint32_t request = 0; request < prompts.size(); ++request) {
      lab::print_units({}, NamespaceId::shared, prompts[request], prints);
      REQUIRE(history.add(prints) == request);
      std::vector<std::size_t> by;
      for (const Prompt& prefix : path_of(prompts[request])) {
        if (const auto known = last.find(prefix); known != last.end()) by.push_back(known->second);
        last[prefix] = request;
      }
      std::vector<std::size_t> reused_by;
      for (const lab::Reuse& reuse : history.reuses(request)) {
        CHECK(reuse.begin == reused_by.size());
        reused_by.resize(reuse.end, reuse.by);
      }
      CHECK(reused_by == by);
      std::vector<std::uint32_t> given;
      history.numbers_of_last(given);
      REQUIRE(given.size() == prompts[request].size());
      std::size_t depth = 0;
      for (const Prompt& prefix : path_of(prompts[request])) {
        CHECK(numbers.try_emplace(prefix, given[depth]).first->second == given[depth]);
        ++depth;
      }
    }
    std::set<std::uint32_t> different;
    for (const auto& [prefix, number] : numbers) different.insert(number);
    CHECK(different.size() == numbers.size());
    CHECK(history.distinct_units() == numbers.size());
  }
}

TEST_CASE("the optimum is the most of all orders of evictions") {
  std::size_t more_than_lru = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    const Prompts prompts = random_prompts(seed, 9, 4, 3);
    const lab::History history = history_of(prompts);
    for (std::size_t capacity = 4; capacity <= 9; ++capacity) {
      CAPTURE(seed);
      CAPTURE(capacity);
      const std::uint64_t best = sum(lab::optimum(history, capacity));
      REQUIRE(best == best_of_all(prompts, capacity));
      std::size_t lru = 0;
      for (const std::size_t hits : trimmed_lru(prompts, capacity)) lru += hits;
      more_than_lru += best > lru;
    }
  }
  CHECK(more_than_lru > 100);  // else the traces would be too easy to prove anything
}

TEST_CASE("the stack has the hits of LRU that trims leaves, at every capacity and of every request") {
  for (std::uint64_t seed = 1; seed <= test::with_effort(60); ++seed) {
    const Prompts prompts = random_prompts(seed, 30, 10, 3);
    const lab::History history = history_of(prompts);
    const lab::Stack stack(history);
    for (std::size_t capacity = 1; capacity <= 70; ++capacity) {
      CAPTURE(seed);
      CAPTURE(capacity);
      const std::vector<std::size_t> expected = trimmed_lru(prompts, capacity);
      for (std::uint32_t request = 0; request < prompts.size(); ++request)
        REQUIRE(stack.hits(request, capacity) == expected[request]);
    }
  }
}

TEST_CASE("units are whole pages of words, with what a codec looks ahead, or blocks with the rest") {
  const lab::Cut pages{4, 0, false}, bigrams{4, 1, false}, blocks{4, 0, true};
  CHECK(pages.units(3) == 0);
  CHECK(pages.units(8) == 2);
  CHECK(bigrams.units(0) == 0);
  CHECK(bigrams.units(8) == 1);
  CHECK(bigrams.units(9) == 2);
  CHECK(blocks.units(9) == 3);
  CHECK(blocks.tokens(3, 9) == 9);
  CHECK(blocks.tokens(2, 9) == 8);
  CHECK(pages.tokens(2, 9) == 8);
  const Prompt words{1, 2, 3, 4, 5, 6, 7, 8, 9}, other{1, 2, 3, 4, 5, 6, 7, 8, 10};
  std::vector<std::uint64_t> a, b;
  const auto prints = [&](const lab::Cut& cut, NamespaceId first, NamespaceId second) {
    lab::print_units(cut, first, words, a);
    lab::print_units(cut, second, other, b);
    REQUIRE(a.size() == b.size());
  };
  prints(pages, NamespaceId{0}, NamespaceId{0});
  CHECK(a == b);  // the ninth word is in no page
  prints(bigrams, NamespaceId{0}, NamespaceId{0});
  CHECK(a[0] == b[0]);
  CHECK(a[1] != b[1]);  // the last bigram of the second page has the ninth word
  prints(blocks, NamespaceId{0}, NamespaceId{0});
  CHECK(a[1] == b[1]);
  CHECK(a[2] != b[2]);
  prints(pages, NamespaceId{0}, NamespaceId{1});
  CHECK(a[0] != b[0]);
}

TEST_CASE("the optimum of the conversation trace is the published one") {
  const auto file = canopy::test::shared_file("traces/conversation_trace.jsonl");
  if (file.empty()) return;
  auto source = workload::open_trace(file.string());
  REQUIRE(source);
  lab::ReadOptions options;
  options.page_size = 16;
  options.requests = false;
  const auto trace = lab::read_trace(**source, options, {});
  REQUIRE(trace);
  for (const auto& [capacity, tokens] :
       {std::pair(1'000'000, 36'446'048), {3'000'000, 51'914'064}, {10'000'000, 54'097'552}, {30'000'000, 54'097'552}})
    CHECK(sum(lab::optimum(trace->history, static_cast<std::uint64_t>(capacity) / 16)) * 16 ==
          static_cast<std::uint64_t>(tokens));
}
