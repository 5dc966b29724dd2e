#include <canopy/base/figures.h>
#include <fmt/format.h>
#include <mirror/names.h>
#include <mirror/rank_text.h>

#include <unordered_set>
#include <utility>
#include <vector>

#include "inputs.h"
#include "list_table.h"
#include "panels.h"

namespace canopy::inspector {
namespace {

using listing::Listing;
using listing::Tone;
using listing::Unit;
using listing::Value;

/// Returns the policy's description of its rule; a general one if the policy has none.
std::string rule_of(const MirrorPool& pool) {
  return pool.policy_rule.empty() ? "the node with the smallest rank is evicted first" : pool.policy_rule;
}

/// Returns the first node of the path to a node: what is below it is the node's part of the tree.
const MirrorNode& first_of_path(const Mirror& mirror, const MirrorNode& node) {
  constexpr std::size_t kMostSteps = 100'000;
  const MirrorNode* at = &node;
  for (std::size_t i = 0; i < kMostSteps && at->parent != 0; ++i) at = &mirror.node(at->parent);
  return *at;
}

/// The nodes that are evicted next, in order, each with its rank.
class LeavePanel final : public Panel {
 public:
  std::string note(const Scene& scene) const override {
    return scene.selection.tier ? scene.pool().policy + ", on the host" : scene.pool().policy;
  }

  void draw(Scene& scene) override {
    explain(rule_of(scene.pool()));
    list(scene);
    held_.draw_new(changed_, "changed");
    if (rows_.empty())
      return nothing_here("No node can be evicted: nothing is cached, or each cached node is under a lock.");
    std::vector<Place> places;
    for (const std::uint64_t id : rows_) places.push_back({places.size() + 1, id, scene.mirror.find(id)});
    ListTable<Place>{
        .id = "leave",
        .columns = columns(scene.mirror, scene.pool()),
        .click = [&](const Place& place) { scene.selection.select_node(place.id), picked_ = place.id; },
        .is_chosen = [&](const Place& place) { return place.id == scene.selection.node; },
        .explain = [&](const Place& place) { return about(scene, place); },
        .held = &held_,
    }
        .draw(places);
  }

 private:
  static constexpr std::size_t kMost = 200;

  void list(const Scene& scene) {
    const bool same_group = !group_.changed(scene.shown(), scene.selection.group);
    if (!listed_.changed(scene.mirror.commits()) && same_group && changed_ == 0) return;
    std::vector<std::uint64_t> now;
    for (const std::uint32_t slot : scene.mirror.next_to_evict(scene.selection.group, kMost))
      now.push_back(scene.mirror.node(slot).id);
    picked_ = picked_ == scene.selection.node ? picked_ : 0;
    changed_ = 0;
    if (same_group && !rows_.empty() && held_.holds(scene.moves(), picked_ != 0)) {
      const std::unordered_set<std::uint64_t> had(rows_.begin(), rows_.end());
      for (const std::uint64_t id : now) changed_ += !had.contains(id);
      return;
    }
    rows_ = std::move(now);
    held_.listed();
  }

  /// A row. `node` is null if it was evicted while the list held still.
  struct Place {
    std::size_t number = 0;
    std::uint64_t id = 0;
    const MirrorNode* node = nullptr;
  };

  static std::string why(const Mirror& mirror, const MirrorPool& pool, const Place& place) {
    if (!place.node) return "evicted meanwhile";
    return rank_words(pool.policy_rank, pool.rank[slot_of(NodeId{place.id})], mirror.tick());
  }

  static Listing<Place> columns(const Mirror& mirror, const MirrorPool& pool) {
    const auto of = [](auto value) {
      return [value](const Place& place) { return place.node ? Value(value(*place.node)) : Value(""); };
    };
    const auto tone = [](const Place& place) { return place.node ? Tone::plain : Tone::dim; };
    Listing<Place> list;
    list.add("", Unit::text, [](const Place& place) { return std::to_string(place.number); })
        .wide(2)
        .in_tone(Tone::dim);
    list.add("node", Unit::text, [](const Place& place) { return node_name(place.id); }).wide(4.4F).in_tone(tone);
    list.add("tokens", Unit::count, of([](const MirrorNode& node) { return node.length; })).wide(4);
    list.add("hits", Unit::count, of([](const MirrorNode& node) { return node.uses(); })).wide(3, 26);
    list.add("tenant", Unit::text, of([&](const MirrorNode& n) { return mirror.space_name(n.space); })).wide(0, 26);
    list.add("because", Unit::text, [&](const Place& place) { return why(mirror, pool, place); }).in_tone(tone);
    return list;
  }

  static std::string about(const Scene& scene, const Place& place) {
    if (!place.node) return "It was evicted while the list held still.";
    const Rank& rank = scene.pool().rank[slot_of(NodeId{place.id})];
    return fmt::format(
        "{} of the evictable nodes, in the tree below {}. Rule: {}. This node: {}. Rank {} / {}: the smallest is "
        "evicted first, and among equal ranks the smallest slot.",
        place.number == 1 ? "The first" : fmt::format("Number {}", place.number),
        node_name(first_of_path(scene.mirror, *place.node).id), rule_of(scene.pool()),
        why(scene.mirror, scene.pool(), place), grouped(rank.major), grouped(rank.minor));
  }

  Inputs<std::uint64_t> listed_;
  Inputs<std::uint64_t, std::size_t> group_;
  std::size_t changed_ = 0;          ///< number of nodes missing from the list while it holds still
  std::vector<std::uint64_t> rows_;  ///< ids
  std::uint64_t picked_ = 0;         ///< node that was selected here, while it stays selected
  HeldList held_;
};

}  // namespace

PanelInfo leave_panel() {
  return {
      .title = "NEXT TO EVICT",
      .row = Row::tab,
      .key = 'L',
      .help = "Which nodes are evicted next, in which order, and why?",
      .make = make_panel<LeavePanel>,
      .figures = FiguresOf::moment,
      .not_in_events = "Not known: KV events report which blocks were evicted, not which will be.",
      .needs_nodes = true,
      .shows_tier = true,
  };
}

}  // namespace canopy::inspector
