/// Trees of several shapes and sizes: the cost of one call, which may grow with the tree.
#include <fmt/format.h>

#include <array>
#include <numeric>

#include <workload/text.h>
#include "cases.h"
#include "clock.h"
#include "floor.h"
#include "subject.h"

namespace canopy::bench {
namespace {

struct Shape {
  const char* name;
  Units prefix_tokens;  ///< in front of every leaf, in one node
};
constexpr Shape kWide{"wide", 0}, kSharedPrompt{"shared prompt", 8192};

/// Leaves of one page under a common prefix. Leaf i has page number i + first_leaf_page().
class Tree {
 public:
  Tree(Subject subject, const Shape& shape, Units page_size, std::size_t leaves)
      : subject_(std::move(subject)), page_(page_size), prefix_(shape.prefix_tokens), words_(prefix_ + page_) {
    std::iota(words_.begin(), words_.end(), 1U << 31);
    std::vector<Page> pages(words_.size() / page_);
    std::iota(pages.begin(), pages.end(), Page{1});
    ids_.resize(leaves);
    if (prefix_ > 0) {
      const Key prefix{NamespaceId::shared, std::span(words_).first(prefix_)};
      index().release(index().insert({}, prefix, {std::span(pages).first(prefix_ / page_)}, {}).lock);
    }
    for (std::size_t leaf = 0; leaf < leaves; ++leaf) index().release(insert(leaf));
  }

  PrefixIndex& index() { return *subject_.index; }
  std::size_t leaves() const { return ids_.size(); }
  Page first_leaf_page() const { return prefix_ / page_ + 1; }
  /// Returns the words of a leaf's whole key. Valid until the next call.
  Key key(std::size_t leaf) {
    const std::uint64_t id = ids_[leaf];
    for (Units i = 0; i < page_; ++i) words_[prefix_ + i] = static_cast<std::uint32_t>(id + i * 7);
    return {NamespaceId::shared, words_};
  }
  /// Replaces the leaf's key by a new one; its pages begin with those of the prefix.
  Key renewed_key(std::size_t leaf) {
    ids_[leaf] = ++last_id_;
    return key(leaf);
  }
  GroupPages pages(std::size_t leaf) {
    pages_.resize(words_.size() / page_);
    std::iota(pages_.begin(), pages_.end(), Page{1});
    pages_.back() = first_leaf_page() + static_cast<Page>(leaf);
    return {std::span<const Page>(pages_)};
  }
  Lock insert(std::size_t leaf) {
    const Key key = renewed_key(leaf);
    return index().insert({}, key, pages(leaf), {}).lock;
  }

 private:
  Subject subject_;
  Units page_, prefix_;
  std::vector<std::uint32_t> words_;
  std::vector<Page> pages_;
  std::vector<std::uint64_t> ids_;  ///< id of each leaf, from which its words are made
  std::uint64_t last_id_ = 0;
};

enum Figure : std::size_t { match, insert, release, evict, evict_p99, evict_all, snapshot, kFigures };
constexpr std::array<const char*, kFigures> kFigureNames{
    "match", "insert", "lock + release", "evict one page", "evict one page, p99", "evict all", "snapshot"};
using Figures = std::array<Measured, kFigures>;

struct CountsNodes final : NodeVisitor {
  std::uint64_t nodes = 0;
  void node(const NodeView& view) override { nodes += view.facts.length > 0; }
};

double percentile_99(std::vector<double>& samples) {
  const auto at = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() * 99 / 100);
  std::nth_element(samples.begin(), at, samples.end());
  return *at;
}

/// Measures one repetition on a new tree. `patience`: seconds after which calls of one kind end early.
void measure_tree(Tree& tree, std::uint64_t seed, double patience, bool original, Figures& figures) {
  const std::size_t batch = std::min<std::size_t>(1000, tree.leaves());
  const auto average = [&](Figure figure, double seconds, std::size_t calls) {
    figures[figure].of(original).add(seconds / static_cast<double>(calls));
  };
  std::vector<Lock> locks(batch);
  double took = 0;
  for (std::size_t i = 0; i < batch; ++i) {
    const Key key = tree.key(splitmix64(seed + i) % tree.leaves());
    took += seconds_of([&] { locks[i] = tree.index().match(key, {}); });
  }
  average(match, took, batch);
  for (const Lock& lock : locks) tree.index().release(lock);
  took = 0;
  for (std::size_t i = batch; i < 2 * batch; ++i) {
    const Key key = tree.key(splitmix64(seed + i) % tree.leaves());
    took += seconds_of([&] { tree.index().release(tree.index().match(key, {})); });
  }
  average(release, took, batch);

  std::vector<double> samples;
  std::vector<std::size_t> gone;
  took = 0;
  while (gone.size() < batch && (took < patience || gone.size() < 3)) {
    GroupPages left;
    samples.push_back(seconds_of([&] { left = tree.index().evict(0, 1); }));
    took += samples.back();
    gone.push_back(left[0].back() - tree.first_leaf_page());
  }
  average(evict, took, gone.size());
  if (samples.size() >= 100) figures[evict_p99].of(original).add(percentile_99(samples));

  took = 0;
  std::size_t inserted = 0;
  for (const std::size_t leaf : gone) {
    const Key key = tree.renewed_key(leaf);
    const GroupPages pages = tree.pages(leaf);
    took += seconds_of([&] { locks[inserted] = tree.index().insert({}, key, pages, {}).lock; });
    ++inserted;
  }
  average(insert, took, inserted);
  for (std::size_t i = 0; i < inserted; ++i) tree.index().release(locks[i]);

  CountsNodes count;
  took = seconds_of([&] { tree.index().visit(count); });
  average(snapshot, took, count.nodes);
  took = seconds_of([&] { tree.index().evict(0, tree.leaves() + tree.first_leaf_page()); });
  average(evict_all, took, count.nodes);
}

/// Measures the same compares and copies in memory of the same size.
void measure_floor(const Shape& shape, Units page_size, std::size_t leaves, std::uint64_t seed, Repeated& compared,
                   Repeated& copied) {
  FloorMemory memory(shape.prefix_tokens + leaves * page_size), page_numbers(leaves);
  std::vector<std::uint32_t> words(shape.prefix_tokens + page_size, 7);
  const std::span prefix = std::span(words).first(shape.prefix_tokens), leaf = std::span(words).last(page_size);
  memory.copy(0, words.data(), prefix.size());
  const auto place = [&](std::uint64_t i) { return prefix.size() + splitmix64(seed + i) % leaves * page_size; };
  const std::size_t batch = std::min<std::size_t>(1000, leaves);
  double compare = 0, copy = 0;
  bool same = true;
  for (std::uint64_t i = 0; i < batch; ++i) {
    leaf[0] = static_cast<std::uint32_t>(i);
    compare += seconds_of([&] {
      same &= memory.compare(0, prefix.data(), prefix.size());
      same &= memory.compare(place(i), leaf.data(), leaf.size());
    });
  }
  for (std::uint64_t i = batch; i < 2 * batch; ++i) {
    const Page page = static_cast<Page>(i);
    copy += seconds_of([&] {
      same &= memory.compare(0, prefix.data(), prefix.size());
      memory.copy(place(i), leaf.data(), leaf.size());
      page_numbers.copy(i % leaves, &page, 1);
    });
  }
  static volatile bool used;  // otherwise the compiler could remove the compares
  used = same;
  static_cast<void>(used);
  compared.add(compare / static_cast<double>(batch));
  copied.add(copy / static_cast<double>(batch));
}

std::string tree_name(const Shape& shape, Units page_size, std::size_t leaves) {
  return fmt::format("{}, page {}, {} leaves", shape.name, page_size, power_of_ten(leaves));
}

/// Returns true if the original's algorithm ends within seconds.
bool original_is_bearable(std::size_t nodes) { return nodes <= 1'000'000; }

void add_tree(const Shape& shape, Units page_size, std::size_t leaves, std::vector<Case>& cases) {
  std::vector<std::string> names;
  for (const char* figure : kFigureNames)
    names.push_back(fmt::format("{}: {}", figure, tree_name(shape, page_size, leaves)));
  const auto measure = [=](const Setting& setting, Report& report) -> Result<std::monostate> {
    Figures figures;
    const std::size_t repetitions = leaves > 1'000'000 ? 2 : setting.repetitions;
    for (std::size_t repetition = 0; repetition < repetitions; ++repetition) {
      measure_floor(shape, page_size, leaves, repetition, figures[match].floor, figures[insert].floor);
      for (const bool original : {false, true}) {
        if (original && (!original_is_bearable(leaves) || repetition >= setting.original_repetitions)) continue;
        auto subject = make_subject(setting, original, page_size);
        if (!subject) return subject.error();
        Tree tree(std::move(*subject), shape, page_size, leaves);
        measure_tree(tree, repetition << 32, 0.3, original, figures);
      }
    }
    for (std::size_t figure = 0; figure < kFigures; ++figure)
      report.rows.push_back(figures[figure].row("One call on a tree of one-page leaves", names[figure],
                                                figure == snapshot || figure == evict_all ? "a node" : "a call"));
    return std::monostate{};
  };
  cases.push_back({names, measure});
}

/// Adds the row of a pool of which locks hold 95 %: each new request evicts one page of the rest.
void add_thrash(Units page_size, std::size_t leaves, std::vector<Case>& cases) {
  const std::string name =
      fmt::format("evict + insert + release: 95 % held, page {}, {} leaves", page_size, power_of_ten(leaves));
  const auto measure = [=](const Setting& setting, Report& report) -> Result<std::monostate> {
    Measured figures;
    for (const bool original : {false, true}) {
      if (original && !original_is_bearable(leaves)) continue;
      auto subject = make_subject(setting, original, page_size);
      if (!subject) return subject.error();
      Tree tree(std::move(*subject), kWide, page_size, leaves);
      std::vector<Lock> held;
      for (std::size_t leaf = 0; leaf < leaves; ++leaf)
        if (leaf % 20 != 0) held.push_back(tree.index().match(tree.key(leaf), {}));
      const std::size_t repetitions = original ? setting.original_repetitions : setting.repetitions;
      for (std::size_t repetition = 0; repetition < repetitions; ++repetition) {
        double took = 0;
        std::size_t calls = 0;
        while (calls < 2000 && (took < 0.3 || calls < 3)) {
          GroupPages left;
          took += seconds_of([&] { left = tree.index().evict(0, 1); });
          const std::size_t leaf = left[0].back() - tree.first_leaf_page();
          const Key key = tree.renewed_key(leaf);
          const GroupPages pages = tree.pages(leaf);
          took += seconds_of([&] { tree.index().release(tree.index().insert({}, key, pages, {}).lock); });
          ++calls;
        }
        figures.of(original).add(took / static_cast<double>(calls));
      }
      for (const Lock& lock : held) tree.index().release(lock);
    }
    report.rows.push_back(figures.row("A pool of which locks hold 95 %", name, "a new request"));
    return std::monostate{};
  };
  cases.push_back({{name}, measure});
}

}  // namespace

void add_tree_cases(const Options& options, std::vector<Case>& cases) {
  const std::size_t most = options.quick ? 100'000 : 10'000'000;
  for (std::size_t leaves = 1000; leaves <= most; leaves *= 10) add_tree(kWide, 16, leaves, cases);
  for (const Units page_size : {1U, 64U}) add_tree(kWide, page_size, options.quick ? 10'000 : 100'000, cases);
  for (const Units page_size : {1U, 16U, 64U}) add_tree(kSharedPrompt, page_size, options.quick ? 1000 : 10'000, cases);
  for (std::size_t leaves = 1000; leaves <= std::min<std::size_t>(most, 1'000'000); leaves *= 10)
    add_thrash(16, leaves, cases);
}

}  // namespace canopy::bench
