#include <canopy/base/figures.h>
#include <fmt/format.h>
#include <mirror/eviction_order.h>
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

/// Nodes that leave one after the other, each the parent of the one before: a conversation, from its end.
struct Chain {
  std::size_t number = 0;
  std::uint64_t first = 0;  ///< id of the node that leaves first
  std::uint64_t last = 0;   ///< id of the node that leaves last
  std::uint64_t below = 0;  ///< id of the node that is left; 0: the whole path leaves
  std::uint64_t nodes = 0, tokens = 0;
  std::uint64_t before = 0;  ///< tokens that leave before it
  Rank rank{};               ///< rank of the first node
  bool gone = false;         ///< the first node was evicted while the list held still
};

/// Returns the chains of an order of eviction, at most `most`.
std::vector<Chain> chains_of(const Mirror& mirror, const EvictionOrder& order, std::size_t most) {
  std::vector<Chain> chains;
  std::uint64_t before = 0;
  std::uint32_t next = 0;  // the node that continues the chain
  for (const EvictionOrder::Place& place : order.nodes) {
    const MirrorNode& node = mirror.node(place.slot);
    if (place.slot != next || chains.empty()) {
      if (chains.size() == most) break;
      chains.push_back({.number = chains.size() + 1, .first = node.id, .before = before, .rank = place.rank});
    }
    Chain& chain = chains.back();
    next = node.parent;
    chain.last = node.id, chain.below = next != 0 ? mirror.node(next).id : 0;
    ++chain.nodes, chain.tokens += node.length, before += node.length;
  }
  return chains;
}

/// The nodes that are evicted next, in order: a row for each chain, with the rank of its first node.
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
    if (!scene.mirror.tenants().all.empty())
      wrapped("Tenants have shares: which tenant loses is decided first, and the order is that of its nodes.",
              palette().dim);
    std::vector<Chain> rows = rows_;
    for (Chain& chain : rows) chain.gone = scene.mirror.find(chain.first) == nullptr;
    if (ends_early_) {
      ImGui::BeginChild("known", {0, ImGui::GetContentRegionAvail().y - 2.2F * ImGui::GetTextLineHeightWithSpacing()});
      draw_table(scene, rows);
      ImGui::EndChild();
      return wrapped(kEndsEarly, palette().dim);
    }
    draw_table(scene, rows);
  }

 private:
  static constexpr std::size_t kMost = 200, kMostNodes = 4000;
  static constexpr const char* kEndsEarly =
      "What follows is not shown: a parent gets its rank when its last child has gone, and at most 4,000 nodes are "
      "played.";

  void draw_table(Scene& scene, const std::vector<Chain>& rows) {
    ListTable<Chain>{
        .id = "leave",
        .columns = columns(scene.mirror, scene.pool()),
        .click = [&](const Chain& chain) { scene.selection.select_node(chain.first), picked_ = chain.first; },
        .is_chosen = [&](const Chain& chain) { return chain.first == scene.selection.node; },
        .explain = [&](const Chain& chain) { return about(scene, chain); },
        .held = &held_,
    }
        .draw(rows);
  }

  void list(const Scene& scene) {
    const bool same_group = !group_.changed(scene.shown(), scene.selection.group);
    if (!listed_.changed(scene.mirror.commits()) && same_group && changed_ == 0) return;
    const EvictionOrder order = eviction_order(scene.mirror, scene.selection.group, kMostNodes);
    std::vector<Chain> now = chains_of(scene.mirror, order, kMost);
    // The last chain may go on behind what was played.
    const bool was_cut = order.nodes.size() == kMostNodes;
    if (was_cut && now.size() > 1) now.pop_back();
    picked_ = picked_ == scene.selection.node ? picked_ : 0;
    changed_ = 0;
    if (same_group && !rows_.empty() && held_.holds(scene.moves(), picked_ != 0)) {
      std::unordered_set<std::uint64_t> had;
      for (const Chain& chain : rows_) had.insert(chain.first);
      for (const Chain& chain : now) changed_ += !had.contains(chain.first);
      return;
    }
    ends_early_ = (order.ends_early || was_cut) && now.size() < kMost;
    rows_ = std::move(now);
    held_.listed();
  }

  static std::string why(const Mirror& mirror, const MirrorPool& pool, const Chain& chain) {
    return chain.gone ? "evicted meanwhile" : rank_words(pool.policy_rank, chain.rank, mirror.tick());
  }

  static Listing<Chain> columns(const Mirror& mirror, const MirrorPool& pool) {
    const auto of = [&](auto value) {
      return [&mirror, value](const Chain& chain) {
        return chain.gone ? Value("") : Value(value(*mirror.find(chain.first)));
      };
    };
    const auto tone = [](const Chain& chain) { return chain.gone ? Tone::dim : Tone::plain; };
    Listing<Chain> list;
    list.add("", Unit::text, [](const Chain& chain) { return std::to_string(chain.number); })
        .wide(2)
        .in_tone(Tone::dim);
    list.add("node", Unit::text, [](const Chain& chain) { return node_name(chain.first); })
        .wide(4.4F)
        .in_tone(tone)
        .means("The node that leaves first; its parents follow, up to the node below which they hang.");
    list.add("below", Unit::text, [](const Chain& chain) { return chain.below ? node_name(chain.below) : "root"; })
        .wide(4.4F, 34)
        .in_tone(Tone::dim)
        .means("The node that is left of the path when the row's nodes have gone.");
    list.add("tokens", Unit::count, [](const Chain& chain) { return chain.tokens; })
        .wide(4)
        .means("Tokens of the row's nodes, which leave one after the other.");
    list.add("before", Unit::tokens, [](const Chain& chain) { return chain.before; })
        .wide(4, 30)
        .in_tone(Tone::dim)
        .means("Tokens that leave before the row's first node.");
    list.add("hits", Unit::count, of([](const MirrorNode& node) { return node.uses(); }))
        .wide(3, 26)
        .means("Hits of the node that leaves first.");
    list.add("tenant", Unit::text, of([&](const MirrorNode& n) { return mirror.space_name(n.space); })).wide(0, 26);
    list.add("because", Unit::text, [&](const Chain& chain) { return why(mirror, pool, chain); })
        .in_tone(tone)
        .means("The rank of the node that leaves first, in the policy's words.");
    return list;
  }

  static std::string about(const Scene& scene, const Chain& chain) {
    if (chain.gone) return "It was evicted while the list held still.";
    const std::string where = chain.below ? "below " + node_name(chain.below) : "up to the root";
    const std::string nodes = chain.nodes == 1 ? fmt::format("Node {}, {}", node_name(chain.first), where)
                                               : fmt::format("{} nodes from {} to {}, {}", grouped(chain.nodes),
                                                             node_name(chain.first), node_name(chain.last), where);
    return fmt::format(
        "{}: {} tokens. {} tokens leave before it, as long as nothing is used, inserted or released. Rule: {}. The "
        "first node: {}. Rank {} / {}: the smallest is evicted first, and among equal ranks the smallest slot.",
        nodes, grouped(chain.tokens), grouped(chain.before), rule_of(scene.pool()),
        why(scene.mirror, scene.pool(), chain), grouped(chain.rank.major), grouped(chain.rank.minor));
  }

  Inputs<std::uint64_t> listed_;
  Inputs<std::uint64_t, std::size_t> group_;
  std::size_t changed_ = 0;  ///< number of rows missing from the list while it holds still
  std::vector<Chain> rows_;
  bool ends_early_ = false;   ///< see EvictionOrder
  std::uint64_t picked_ = 0;  ///< node that was selected here, while it stays selected
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
