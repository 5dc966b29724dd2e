/// Functions about the tree.
#include <canopy/base/printable.h>

#include <algorithm>

#include "mirror.h"

namespace canopy::inspector {

NodeState Mirror::state(const MirrorNode& node, std::size_t group) const {
  if (!node.has(group)) return node.lost >> group & 1 ? NodeState::tombstone : NodeState::without;
  return node.hold[group] ? NodeState::protected_ : NodeState::evictable;
}

bool Mirror::waits(const MirrorNode& node, std::size_t group) const { return node.id && state_.waits(node, group); }

std::uint64_t Mirror::locks(const MirrorNode& node, std::size_t group) const {
  if (state_.pools[group].reach != kWholePath || node.id == 0) return node.hold[group];
  // A node's own locks are its count minus its held children; this sums them over the subtree.
  std::uint64_t sum = 0;
  const std::uint32_t top = slot_of(NodeId{node.id});
  for (std::uint32_t at = top; at;) {
    const MirrorNode& here = state_.nodes[at];
    std::uint32_t held = 0;
    for (std::uint32_t child = here.first_child; child; child = state_.nodes[child].next)
      held += state_.nodes[child].hold[group] > 0;
    sum += here.hold[group] - held;
    if (here.first_child) {
      at = here.first_child;
      continue;
    }
    while (at != top && state_.nodes[at].next == 0) at = state_.nodes[at].parent;
    at = at == top ? 0 : state_.nodes[at].next;
  }
  return sum;
}

std::vector<std::uint32_t> Mirror::next_to_evict(std::size_t group, std::size_t most) const {
  std::vector<std::uint32_t> waiting;
  state_.nodes.each([&](std::uint32_t slot) {
    if (waits(state_.nodes[slot], group)) waiting.push_back(slot);
  });
  const auto& ranks = state_.pools[group].rank;
  const auto before = [&](std::uint32_t a, std::uint32_t b) {
    const MirrorNode &x = state_.nodes[a], &y = state_.nodes[b];
    if (ranks[a] != ranks[b]) return ranks[a] < ranks[b];
    if (state_.pools[group].reach != kWholePath && x.begin != y.begin) return x.begin < y.begin;
    return a < b;
  };
  const std::size_t shown = std::min(most, waiting.size());
  std::partial_sort(waiting.begin(), waiting.begin() + static_cast<std::ptrdiff_t>(shown), waiting.end(), before);
  waiting.resize(shown);
  return waiting;
}

std::string Mirror::space_name(NamespaceId space) const {
  const auto at = static_cast<std::size_t>(space);
  const bool named = at < spaces().size() && (at == 0 || is_from_events() || !spaces()[at].name.empty());
  return named ? shown_name(spaces()[at].name) : "(namespace " + std::to_string(at) + ")";
}

Mirror::Moment Mirror::moment() const {
  Moment moment;
  each_node([&](const MirrorNode& node) {
    NodeThen then{node.length, 0, node.hold[0] > 0};
    for (const PageRun& run : node.pages)
      if (run.group == 0 && run.place == 0) then.first_page = run.first;
    moment.emplace(node.id, then);
  });
  return moment;
}

Difference Mirror::difference(const Moment& before, const Moment& after) {
  Difference difference;
  for (const auto& [id, now] : after) {
    const auto then = before.find(id);
    if (then == before.end()) difference.added.push_back(id), difference.added_tokens += now.length;
    else if (then->second != now) difference.changed.push_back(id), difference.changed_tokens += now.length;
  }
  for (const auto& [id, then] : before)
    if (!after.contains(id)) difference.evicted.push_back(id), difference.evicted_tokens += then.length;
  for (auto* ids : {&difference.added, &difference.evicted, &difference.changed}) std::sort(ids->begin(), ids->end());
  return difference;
}

}  // namespace canopy::inspector
