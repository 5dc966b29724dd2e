#pragma once

#include <conformance/model/plugins.h>

#include <canopy/prefix_index.h>

#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace canopy::test {

/// Records the calls of the index, and ranks and spares as a test demands.
struct Spy final : EvictionStrategy {
  std::function<Rank(const NodeFacts&)> ranks = [](const NodeFacts& node) { return Rank{node.last_access, 0}; };
  std::function<bool(const NodeFacts&)> spares = [](const NodeFacts&) { return false; };
  std::function<void(NodeFacts&)> tags = [](NodeFacts&) {};
  Volatility drift = Volatility::none;
  std::vector<RequestFacts> arrivals;
  std::vector<NodeFacts> left;
  std::vector<Cause> causes;
  std::vector<std::vector<std::uint64_t>> prints;  ///< prints of the evicted nodes
  std::vector<RequestFacts> ends;
  std::vector<std::vector<NodeFacts>> paths;
  std::map<NodeId, int> spare_calls;
  Prints reads = Prints::none;
  int clears = 0;

  Rank rank(const NodeFacts& node) override { return ranks(node); }
  Volatility volatility() const override { return drift; }
  bool spare(const NodeFacts& node) override { return ++spare_calls[node.id], spares(node); }
  void evicted(const NodeFacts& node, const Eviction& eviction) override {
    left.push_back(node);
    causes.push_back(eviction.cause);
    prints.emplace_back(eviction.prefix_prints.begin(), eviction.prefix_prints.end());
  }
  void cleared() override { ++clears; }
  Prints reads_prints() const override { return reads; }
  void arrived(const RequestFacts& request) override { arrivals.push_back(request); }
  void ended(const RequestFacts& request, Path& path) override {
    ends.push_back(request);
    paths.emplace_back();
    for (NodeFacts facts; path.next(facts);) tags(facts), paths.back().push_back(facts);
  }
};

struct Waiters final : QueueVisitor {
  std::vector<std::pair<NodeFacts, Rank>> all;
  void waiting(const NodeFacts& node, Rank rank) override { all.emplace_back(node, rank); }
};

/// One index with pages of one unit, keys made of digits.
struct PolicyBench {
  explicit PolicyBench(const std::string& name, Units page_size = 1, std::uint64_t capacity = 1'000) : page(page_size) {
    const std::array groups{Group{"full", kWholePath, capacity, &spy}};
    index = make<PrefixIndex>(name, {page, 0, groups});
  }
  static std::vector<std::uint32_t> words(std::string_view digits) { return {digits.begin(), digits.end()}; }

  /// Inserts below a lock, with exactly the pages that are needed, numbered after the last ones.
  Inserted insert(const Lock& lock, std::span<const std::uint32_t> key, InsertFacts facts = {},
                  NamespaceId space = NamespaceId::shared) {
    std::vector<Page> pages((key.size() - lock.length) / page);
    std::iota(pages.begin(), pages.end(), next);
    next += static_cast<Page>(pages.size());
    return index->insert(lock, {space, key}, {pages}, facts);
  }
  Lock insert(std::string_view digits, InsertFacts facts = {}, NamespaceId space = NamespaceId::shared) {
    return insert({}, words(digits), facts, space).lock;
  }
  void add(std::string_view digits, NamespaceId space = NamespaceId::shared) {
    index->release(insert(digits, {}, space));
  }
  Lock match(std::string_view digits, RequestFacts facts = {}) {
    return index->match({NamespaceId::shared, words(digits)}, facts);
  }
  Units resident(std::string_view digits, NamespaceId space = NamespaceId::shared) {
    return index->peek({space, words(digits)}).length;
  }
  std::vector<std::pair<NodeFacts, Rank>> waiting() {
    Waiters waiters;
    index->waiting(0, waiters);
    return waiters.all;
  }

  Spy spy;  ///< outlives the index
  Units page;
  std::shared_ptr<PrefixIndex> index;
  Page next = 1;
};

}  // namespace canopy::test
