/// Deep trees and long keys: a chain of one-page nodes, and one key of ten million tokens cut to pieces.
#include <fmt/format.h>

#include <numeric>

#include <workload/text.h>
#include "cases.h"
#include "clock.h"
#include "floor.h"
#include "subject.h"

namespace canopy::bench {
namespace {

constexpr NamespaceId kOther{1};

/// A chain of one-page nodes: in order, as a long answer makes them, or scattered, so that their places in memory have
/// no order, as in an index that has run for long.
struct Chain {
  Subject subject;
  Units page;
  std::vector<std::uint32_t> words;
  std::vector<Page> pages;

  Chain(Subject made, Units page_size, std::size_t nodes, std::size_t spare)
      : subject(std::move(made)), page(page_size), words((nodes + spare) * page_size), pages(nodes + spare) {
    std::iota(words.begin(), words.end(), 1U);
    std::iota(pages.begin(), pages.end(), Page{1});
  }
  PrefixIndex& index() { return *subject.index; }
  Key key(std::size_t nodes) const { return {NamespaceId::shared, std::span(words).first(nodes * page)}; }

  /// Makes each node by an insert below the last one's lock.
  void grow(std::size_t nodes, bool scattered) {
    if (scattered) scatter(nodes);
    Lock lock;
    for (std::size_t end = 1; end <= nodes; ++end) lock = extend(lock, end);
    index().release(lock);
  }
  /// Makes the same nodes by splitting one, for an index that walks from the root at each insert.
  void cut(std::size_t nodes) {
    index().release(index().insert({}, key(nodes), {std::span(pages).first(nodes)}, {}).lock);
    for (std::size_t end = nodes - 1; end > 0; --end) index().release(index().match(key(end), {}));
  }
  Lock extend(const Lock& lock, std::size_t end) {
    return index().insert(lock, key(end), {std::span(pages).subspan(end - 1, 1)}, {}).lock;
  }

 private:
  void scatter(std::size_t nodes) {
    std::vector<std::uint32_t> leaf(page);
    const auto key_of = [&](std::uint64_t i) {
      std::fill(leaf.begin(), leaf.end(), static_cast<std::uint32_t>(i));
      return Key{kOther, leaf};
    };
    for (std::size_t i = 0; i < nodes; ++i)
      index().release(index().insert({}, key_of(i), {std::span(pages).first(1)}, {}).lock);
    for (std::size_t i = 0; i < nodes; ++i) index().release(index().match(key_of(splitmix64(i) % nodes), {}));
    index().evict(0, nodes);
  }
};

void add_chain(Units page_size, std::size_t nodes, bool scattered, std::vector<Case>& cases) {
  const std::string shape =
      fmt::format("{}chain, page {}, {} nodes", scattered ? "scattered " : "", page_size, power_of_ten(nodes));
  const std::vector<std::string> names{"match: cold " + shape, "release: " + shape, "insert: below a lock, " + shape};
  const auto measure = [=](const Setting& setting, Report& report) -> Result<std::monostate> {
    Measured matched, released, inserted;
    for (const bool original : {false, true}) {
      // The original copies the rest of the key at each node.
      constexpr std::size_t kInserts = 200, kBearableCopies = std::size_t{2} << 30;
      if (original && nodes * nodes * page_size > kBearableCopies) continue;
      auto subject = make_subject(setting, original, page_size);
      if (!subject) return subject.error();
      const std::size_t repetitions = original ? setting.original_repetitions : setting.repetitions;
      Chain chain(std::move(*subject), page_size, nodes, repetitions * kInserts);
      if (original) chain.cut(nodes);
      else chain.grow(nodes, scattered);
      std::size_t depth = nodes;
      const double share = 1 / static_cast<double>(nodes);
      for (std::size_t repetition = 0; repetition < repetitions; ++repetition) {
        Lock lock;
        make_cold();
        matched.of(original).add(share * seconds_of([&] { lock = chain.index().match(chain.key(nodes), {}); }));
        released.of(original).add(share * seconds_of([&] { chain.index().release(lock); }));
        lock = chain.index().match(chain.key(depth), {});
        double took = 0;
        std::size_t calls = 0;
        for (; calls < kInserts && (took < 0.3 || calls < 3); ++calls)
          took += seconds_of([&] { lock = chain.extend(lock, ++depth); });
        inserted.of(original).add(took / static_cast<double>(calls));
        chain.index().release(lock);
      }
      if (original) continue;
      FloorMemory memory(chain.words.size());
      memory.copy(0, chain.words.data(), chain.words.size());
      for (std::size_t repetition = 0; repetition < repetitions; ++repetition) {
        make_cold();
        bool same = false;
        const double compare = seconds_of([&] { same = memory.compare(0, chain.words.data(), nodes * page_size); });
        matched.floor.add(scattered ? pointer_chase_latency(nodes) : share * compare);
        if (!same) return Error{"canopy-dev bench: the floor's memory lost what was written to it"};
        inserted.floor.add(seconds_of([&] { memory.copy(nodes * page_size, chain.words.data(), page_size); }));
      }
    }
    const char* const section = "Depth: a chain of one-page nodes, cold";
    report.rows.push_back(
        matched.row(section, names[0], "a node", scattered ? "floor: reads that wait for one another" : ""));
    report.rows.push_back(released.row(section, names[1], "a node", "under no other lock"));
    report.rows.push_back(inserted.row(section, names[2], "a call"));
    return std::monostate{};
  };
  cases.push_back({names, measure});
}

/// Measures a long key that is cut into pieces, each by an insert that ends there and continues below the last one's
/// lock.
void add_long_key(Units page_size, std::size_t tokens, std::size_t cuts, std::vector<Case>& cases) {
  const std::string key_name = fmt::format("a key of {} tokens, page {}", power_of_ten(tokens), page_size);
  const std::vector<std::string> names{"match: cold, " + key_name,
                                       fmt::format("split: {} cuts of {}", power_of_ten(cuts), key_name),
                                       fmt::format("split: memory, {} cuts of {}", power_of_ten(cuts), key_name)};
  const auto measure = [=](const Setting& setting, Report& report) -> Result<std::monostate> {
    std::vector<std::uint32_t> words(tokens);
    std::iota(words.begin(), words.end(), 1U);
    std::vector<Page> pages(tokens / page_size);
    std::iota(pages.begin(), pages.end(), Page{1});
    const auto key = [&](std::size_t count) { return Key{NamespaceId::shared, std::span(words).first(count)}; };
    FloorMemory memory(tokens);
    memory.copy(0, words.data(), tokens);
    Measured matched, split;
    Repeated bytes;
    for (const bool original : {false, true}) {
      const std::size_t repetitions = original ? setting.original_repetitions : setting.repetitions;
      for (std::size_t repetition = 0; repetition < repetitions; ++repetition) {
        auto subject = make_subject(setting, original, page_size);
        if (!subject) return subject.error();
        PrefixIndex& index = *subject->index;
        index.release(index.insert({}, key(tokens), {std::span<const Page>(pages)}, {}).lock);
        make_cold();
        Lock lock;
        matched.of(original).add(seconds_of([&] { lock = index.match(key(tokens), {}); }));
        index.release(lock);
        if (original) continue;
        make_cold();
        bool same = false;
        matched.floor.add(seconds_of([&] { same = memory.compare(0, words.data(), tokens); }));
        if (!same) return Error{"canopy-dev bench: the floor's memory lost what was written to it"};
        const std::uint64_t before = index.use().bytes;
        const std::size_t step = pages.size() / cuts;
        lock = {};
        const double took = seconds_of([&] {
          for (std::size_t end = step; end < pages.size() && end <= step * cuts; end += step)
            lock = index.insert(lock, key(end * page_size), {std::span(pages).subspan(end - step, step)}, {}).lock;
        });
        split.ours.add(took / static_cast<double>(cuts));
        bytes.add((static_cast<double>(index.use().bytes) - static_cast<double>(before)) / static_cast<double>(cuts));
        index.release(lock);
      }
    }
    const std::string section = "One long key";
    report.rows.push_back(matched.row(section, names[0], "a match"));
    report.rows.push_back(split.row(section, names[1], "a split",
                                    fmt::format("{:.3f} s in all; inserts that end in it",
                                                split.ours.spread().median * static_cast<double>(cuts))));
    report.rows.push_back({section, names[2], Kind::bytes, "a split", bytes.spread()});
    return std::monostate{};
  };
  cases.push_back({names, measure});
}

/// Measures a match that ends in the middle of a node and splits it.
void add_halves(Units page_size, std::vector<Case>& cases) {
  constexpr Units kTokens = 102'400;
  const std::string name = fmt::format("split: a match of half of 10^5 tokens, page {}", page_size);
  const auto measure = [=](const Setting& setting, Report& report) -> Result<std::monostate> {
    constexpr std::uint32_t kKeys = 20;
    std::vector<std::uint32_t> words(kTokens);
    std::vector<Page> pages(kTokens / page_size, 1);
    Measured figures;
    FloorMemory memory(std::size_t{kTokens} * kKeys);
    for (std::size_t repetition = 0; repetition < setting.repetitions; ++repetition)
      for (const bool original : {false, true}) {
        if (original && repetition >= setting.original_repetitions) continue;
        auto subject = make_subject(setting, original, page_size);
        if (!subject) return subject.error();
        PrefixIndex& index = *subject->index;
        double took = 0, least = 0;
        const auto write = [&](std::uint32_t key) { std::iota(words.begin(), words.end(), key * kTokens); };
        for (std::uint32_t key = 0; key < kKeys; ++key) {
          write(key);
          index.release(index.insert({}, {NamespaceId::shared, words}, {std::span<const Page>(pages)}, {}).lock);
          memory.copy(std::size_t{key} * kTokens, words.data(), kTokens);
        }
        bool same = true;
        for (std::uint32_t key = 0; key < kKeys; ++key) {
          write(key);
          const std::span half = std::span(words).first(kTokens / 2);
          took += seconds_of([&] { index.release(index.match({NamespaceId::shared, half}, {})); });
          least += seconds_of([&] { same &= memory.compare(std::size_t{key} * kTokens, half.data(), half.size()); });
        }
        if (!same) return Error{"canopy-dev bench: the floor's memory lost what was written to it"};
        figures.of(original).add(took / kKeys);
        if (!original) figures.floor.add(least / kKeys);
      }
    report.rows.push_back(figures.row("One long key", name, "a split", "with the compare of the half"));
    return std::monostate{};
  };
  cases.push_back({{name}, measure});
}

}  // namespace

void add_depth_cases(const Options& options, std::vector<Case>& cases) {
  for (std::size_t nodes = 1000; nodes <= (options.quick ? 100'000U : 1'000'000U); nodes *= 10)
    for (const bool scattered : {false, true}) add_chain(1, nodes, scattered, cases);
  for (const Units page_size : {16U, 64U})
    for (const std::size_t nodes : {std::size_t{1000}, std::size_t{options.quick ? 10'000U : 100'000U}})
      add_chain(page_size, nodes, true, cases);
  for (const Units page_size : {1U, 16U, 64U})
    add_long_key(page_size, options.quick ? 1'000'000 : 10'000'000, options.quick ? 10'000 : 100'000, cases);
  for (const Units page_size : {1U, 16U, 64U}) add_halves(page_size, cases);
}

}  // namespace canopy::bench
