/// The chunks of vLLM's CPU tier, as a tree, beside a plain model: what can leave, in which order, and what stays.
#include <chunk_tree.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <random>
#include <set>
#include <stdexcept>
#include <vector>

using namespace canopy;
using namespace canopy::python;
using Slot = ChunkTree::Slot;

namespace {

constexpr Units kPage = 64;

/// Evicts the least recently used chunk first, and counts its calls.
struct Lru final : EvictionStrategy {
  Rank rank(const NodeFacts& node) override {
    ++calls;
    if (raises) throw std::runtime_error("on purpose");
    return {0, std::max(node.last_access, node.spared)};
  }
  bool spare(const NodeFacts& node) override { return spares && node.hits > 0; }
  Volatility volatility() const override { return drifts ? Volatility::epoch : Volatility::none; }
  Prints reads_prints() const override { return Prints::all; }
  void evicted(const NodeFacts& node, const Eviction& eviction) override {
    CHECK(eviction.prefix_prints.size() <= (node.begin + node.length) / kPrintStride);
    if (!eviction.prefix_prints.empty())
      CHECK(eviction.prefix_prints.size() == (node.begin + node.length) / kPrintStride);
  }
  void ended(const RequestFacts&, Path& path) override {
    Units begin = ~Units{0};
    for (NodeFacts node; path.next(node); begin = node.begin) {
      CHECK(node.begin < begin);
      *node.tag = node.begin + 1;
    }
  }
  bool raises = false, spares = false, drifts = false;
  int calls = 0;  ///< calls of rank()
};

/// A tree, and what must be true of it.
struct Model {
  explicit Model(EvictionStrategy& policy)
      : group{"full", kWholePath, 200 * kPage, &policy},
        tree({}, {kPage, 0, std::span<const Group>(&group, 1), nullptr}) {}

  /// `begin`: where a chunk without a parent starts.
  Slot add(Slot before, bool pinned = false, Units begin = 0) {
    if (before != 0) begin = begins[before] + kPage;
    const Slot slot = tree.add({before, begin, NamespaceId{}, ++page, tick, page * 77, pinned});
    begins[slot] = begin;
    parent[slot] = before;
    if (pinned) pins.insert(slot);
    return slot;
  }
  std::vector<Slot> path(Slot slot) const {
    std::vector<Slot> path;
    for (; slot != 0; slot = parent.at(slot)) path.insert(path.begin(), slot);
    return path;
  }
  void use(Slot end, ChunkTree::Use use = ChunkTree::Use::hit) {
    const std::vector<Slot> chunks = path(end);
    tick = tree.tick();
    tree.ended({}, chunks, std::vector<ChunkTree::Use>(chunks.size(), use), tick);
  }
  std::set<Slot> held(const std::vector<Slot>& stay) const {
    std::set<Slot> held;
    for (const Slot slot : pins) held.merge(set_of(path(slot)));
    for (const Slot slot : stay) held.merge(set_of(path(slot)));
    return held;
  }
  static std::set<Slot> set_of(const std::vector<Slot>& slots) { return {slots.begin(), slots.end()}; }
  /// Evicts as many as there can be, at most `most`.
  std::vector<Slot> evict(std::size_t most, const std::vector<Slot>& stay = {}) {
    std::vector<Slot> gone;
    tree.begin_eviction(stay);
    const std::set<Slot> held = this->held(stay);
    REQUIRE(tree.movable() == parent.size() - held.size());
    while (gone.size() < most && tree.movable() > 0) {
      const Slot slot = tree.evict_one();
      REQUIRE(parent.contains(slot));
      CHECK_FALSE(held.contains(slot));
      parent.erase(slot);
      for (const auto& [other, before] : parent) CHECK(before != slot);
      gone.push_back(slot);
    }
    tree.end_eviction();
    return gone;
  }
  void check() const {
    REQUIRE(tree.size() == parent.size());
    const std::size_t held = this->held({}).size();
    CHECK(tree.movable() == parent.size() - held);
    CHECK(tree.sizes(0).protected_ == held * kPage);
    CHECK(tree.sizes(0).evictable == (parent.size() - held) * kPage);
    struct Parents final : NodeVisitor {
      void node(const NodeView& node) override {
        CHECK((node.parent == NodeId::none || before.contains(slot_of(node.parent))));  // parents come first
        before[slot_of(node.facts.id)] = slot_of(node.parent);
        if (node.locks[0] > 0) locks[slot_of(node.facts.id)] = node.locks[0];
      }
      std::map<Slot, Slot> before;
      std::map<Slot, std::uint32_t> locks;
    } visited;
    tree.visit(visited);
    CHECK(visited.before == parent);
    std::map<Slot, std::uint32_t> locks;  // each pin is one of its chunk and of all before it
    for (const Slot pin : pins)
      for (const Slot slot : path(pin)) ++locks[slot];
    CHECK(visited.locks == locks);
  }

  Group group;
  ChunkTree tree;
  std::map<Slot, Slot> parent;
  std::map<Slot, Units> begins;
  std::set<Slot> pins;
  Page page = 0;
  Tick tick = 1;
};

template <class Slots>
Slot any(const Slots& slots, std::mt19937& random) {
  auto at = slots.begin();
  std::advance(at, random() % slots.size());
  if constexpr (requires { at->first; }) return at->first;
  else return *at;
}

}  // namespace

TEST_CASE("chunk tree: the end of the least recently used prompt leaves first") {
  Lru lru;
  Model model(lru);
  const Slot a = model.add(0), a2 = model.add(a), a3 = model.add(a2), b = model.add(0), b2 = model.add(b);
  model.use(a3), model.use(b2), model.use(a2);
  CHECK(model.evict(4) == std::vector<Slot>{a3, b2, b, a2});
  model.check();
}

TEST_CASE("chunk tree: of two chunks of one prompt with a gap between them, the later one leaves first") {
  Lru lru;
  Model model(lru);
  const Slot begin = model.add(0), end = model.add(0, false, 3 * kPage);
  model.tree.ended({}, std::vector<Slot>{begin, end}, std::vector<ChunkTree::Use>(2, ChunkTree::Use::hit), 7);
  CHECK(model.evict(2) == std::vector<Slot>{end, begin});
}

TEST_CASE("chunk tree: a chunk that arrives later continues those that have no parent") {
  Lru lru;
  Model model(lru);
  const Slot child = model.add(0, true, kPage), before = model.add(0);
  model.tree.adopt(before, child);
  model.parent[child] = before;
  model.check();
  CHECK(model.evict(2).empty());
  model.tree.unpin(child);
  model.pins.clear();
  CHECK(model.evict(2) == std::vector<Slot>{child, before});
}

TEST_CASE("chunk tree: a policy that throws is not called again") {
  Lru lru;
  Model model(lru);
  const Slot a = model.add(0), b = model.add(0);
  model.use(a), model.use(b), model.use(a);
  lru.raises = true;
  const Slot c = model.add(0);
  CHECK(model.tree.failure() == "on purpose");
  lru.raises = false;
  const int calls = lru.calls;
  model.use(c);
  CHECK(model.evict(3) == std::vector<Slot>{b, a, c});
  CHECK(lru.calls == calls);
}

TEST_CASE("chunk tree: a second chance is given once an eviction") {
  Lru lru;
  lru.spares = true;
  Model model(lru);
  const Slot a = model.add(0), b = model.add(0);
  model.use(a), model.use(b, ChunkTree::Use::stored);
  CHECK(model.evict(1) == std::vector<Slot>{b});
  CHECK(model.evict(1) == std::vector<Slot>{a});
}

TEST_CASE("chunk tree: random operations beside a model") {
  for (const unsigned seed : {1U, 2U, 3U, 4U}) {
    std::mt19937 random(seed);
    Lru lru;
    lru.spares = seed % 2 == 0, lru.drifts = seed > 2;
    Model model(lru);
    for (int i = 0; i < 20000; ++i) {
      const auto choice = random() % 100;
      if (choice < 40 || model.parent.empty()) {
        const Slot before = model.parent.empty() || random() % 4 == 0 ? 0 : any(model.parent, random);
        if (before == 0 || model.begins[before] < 40 * kPage)
          model.add(before, random() % 3 == 0, static_cast<Units>(random() % 4) * kPage);
      } else if (choice < 50) {
        const Slot slot = any(model.parent, random);
        model.tree.pin(slot);
        model.pins.insert(slot);
      } else if (choice < 68 && !model.pins.empty()) {
        const Slot slot = any(model.pins, random);
        model.tree.unpin(slot);
        model.pins.erase(slot);
      } else if (choice < 72) {
        const Slot slot = any(model.parent, random);
        model.parent.erase(slot);
        model.pins.erase(slot);
        for (const Slot child : model.tree.remove(slot)) {
          CHECK(model.parent.at(child) == slot);
          model.parent.at(child) = 0;
        }
      } else if (choice < 76) {
        const Slot before = any(model.parent, random), child = any(model.parent, random);
        if (model.parent.at(child) != 0 || model.begins[child] != model.begins[before] + kPage) continue;
        model.tree.adopt(before, child);
        model.parent.at(child) = before;
      } else if (choice < 78) {
        const Slot slot = any(model.parent, random);
        if (random() % 2 == 0) {
          model.tree.part(slot);
          model.parent.at(slot) = 0;
          continue;
        }
        const std::set<Slot> held = model.held({});
        model.tree.part_stuck(slot);
        for (auto& [child, before] : model.parent)
          if (before == slot && held.contains(child)) before = 0;
      } else if (choice < 84) {
        model.use(any(model.parent, random), static_cast<ChunkTree::Use>(random() % 3));
      } else if (choice < 99) {
        std::vector<Slot> stay;
        for (auto count = random() % 4; count > 0; --count) stay.push_back(any(model.parent, random));
        model.evict(random() % 6 + (model.parent.size() > 120 ? 20 : 0), stay);
      } else if (random() % 20 == 0) {
        model.tree.clear();
        model.parent.clear();
        model.pins.clear();
      }
      if (i % 100 == 0) model.check();
    }
  }
}
