#include "eviction_order.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <tuple>
#include <unordered_map>

namespace canopy::inspector {
namespace {

/// The rule by which a policy makes a rank of a node's facts, as far as its words say it.
struct RankRule {
  bool by_hits = false, by_priority = false;  ///< major; otherwise 0
  bool by_creation = false;                   ///< minor: the tick of the creation; otherwise of the last use
  bool newest_first = false;

  Rank of(const MirrorNode& node) const {
    const std::uint64_t tick = by_creation ? node.created : node.last_access;
    const std::uint64_t priority = static_cast<std::uint64_t>(node.priority + (std::int64_t{1} << 31));
    return {by_hits ? node.hits : by_priority ? priority : 0, newest_first ? ~tick : tick};
  }
};

/// Reads the words of a rank: "used {minor:ago}", "hits: {major}, used {minor:ago}". Returns nothing for all others.
std::optional<RankRule> rule_of(std::string_view words) {
  RankRule rule;
  if (const std::string_view hits = "hits: {major}, "; words.starts_with(hits))
    rule.by_hits = true, words.remove_prefix(hits.size());
  else if (const std::string_view priority = "priority {major:signed}, "; words.starts_with(priority))
    rule.by_priority = true, words.remove_prefix(priority.size());
  rule.by_creation = words.starts_with("created ");
  if (!rule.by_creation && !words.starts_with("used ")) return {};
  words.remove_prefix(words.find(' ') + 1);
  rule.newest_first = words == "{minor:~ago}";
  if (!rule.newest_first && words != "{minor:ago}") return {};
  return rule;
}

}  // namespace

EvictionOrder eviction_order(const Mirror& mirror, std::size_t group, std::size_t most) {
  const MirrorPool& pool = mirror.pool(group);
  const bool whole_path = pool.reach == kWholePath;
  std::optional<RankRule> rule = rule_of(pool.policy_rank);
  std::vector<EvictionOrder::Place> waiting;
  mirror.each_node([&](const MirrorNode& node) {
    if (!mirror.waits(node, group)) return;
    const std::uint32_t slot = slot_of(NodeId{node.id});
    waiting.push_back({slot, pool.rank[slot]});
    if (rule && rule->of(node) != waiting.back().rank) rule.reset();
  });
  const auto key = [&](const EvictionOrder::Place& place) {
    return std::tuple(place.rank, whole_path ? 0 : mirror.node(place.slot).begin, place.slot);
  };
  const auto later = [&](const auto& a, const auto& b) { return key(b) < key(a); };
  std::make_heap(waiting.begin(), waiting.end(), later);
  EvictionOrder order;
  std::unordered_map<std::uint32_t, std::uint32_t> gone;  // by slot of a parent: children that have left
  while (!waiting.empty() && order.nodes.size() < most) {
    std::pop_heap(waiting.begin(), waiting.end(), later);
    order.nodes.push_back(waiting.back());
    waiting.pop_back();
    if (!whole_path) continue;
    std::uint32_t above = mirror.node(order.nodes.back().slot).parent;
    for (; above != 0 && ++gone[above] == mirror.node(above).children; above = mirror.node(above).parent) {
      const MirrorNode& parent = mirror.node(above);
      if (parent.hold[group] != 0) break;
      if (!parent.has(group)) continue;  // no match can end there: it leaves at once
      if (!rule) return order.ends_early = true, order;
      waiting.push_back({above, rule->of(parent)});
      std::push_heap(waiting.begin(), waiting.end(), later);
      break;
    }
  }
  return order;
}

}  // namespace canopy::inspector
