#include "tier_shares.h"

#include <canopy/base/random.h>

#include <algorithm>
#include <span>
#include <unordered_map>

namespace canopy::inspector {
namespace {

using Words = std::span<const std::uint32_t>;

/// Index of a tree's nodes by parent and by the words of their first page.
class Children {
 public:
  Children(const Mirror& mirror, std::size_t group) : mirror_(mirror), page_(mirror.page_size()) {
    places_.reserve(mirror.node_count());
    mirror.each_node([&](const MirrorNode& node) {
      if (node.has(group) && node.words.size() >= page_)
        places_.emplace(key(above(node), node.words), slot_of(NodeId{node.id}));
    });
  }

  /// Returns the child below a slot, or below the root of a namespace, that begins with these words; 0 if there is
  /// none.
  std::uint32_t find(std::uint32_t parent, NamespaceId space, Words words) const {
    const auto [from, to] = places_.equal_range(key(parent != 0 ? parent : root(space), words));
    for (auto at = from; at != to; ++at) {
      const MirrorNode& node = mirror_.node(at->second);
      if (node.parent == parent && node.space == space &&
          std::ranges::equal(words.first(page_), Words(node.words).first(page_)))
        return at->second;
    }
    return 0;
  }

 private:
  static std::uint64_t root(NamespaceId space) { return (std::uint64_t{1} << 32) + static_cast<std::uint64_t>(space); }
  static std::uint64_t above(const MirrorNode& node) { return node.parent != 0 ? node.parent : root(node.space); }
  std::uint64_t key(std::uint64_t parent, Words words) const {
    for (const std::uint32_t word : words.first(page_)) parent = splitmix64(parent ^ word);
    return parent;
  }

  const Mirror& mirror_;
  std::size_t page_;
  std::unordered_multimap<std::uint64_t, std::uint32_t> places_;
};

/// A depth in the other tree: a number of units into a node. Node 0: the root.
struct Place {
  std::uint32_t node = 0;
  std::size_t units = 0;
};

/// Adds a part of a path. Parts follow one another, so a gap between two of them counts as part of the sum.
void add(MirrorNode::Brought& sum, MirrorNode::Brought more) {
  if (more.until <= more.from) return;
  if (sum.until <= sum.from) sum = more;
  else sum = {std::min(sum.from, more.from), std::max(sum.until, more.until)};
}

/// Returns how many of a node's words, in whole pages, continue from a place in the other tree, and advances the place.
/// `brought` becomes the part that came from a storage, according to the other tree's nodes.
std::size_t follow(const MirrorNode& node, Place& at, const Mirror& other, const Children& children, std::size_t page,
                   MirrorNode::Brought& brought) {
  const Words words = node.words;
  std::size_t same = 0;
  while (same + page <= words.size()) {
    const MirrorNode* there = at.node != 0 ? &other.node(at.node) : nullptr;
    if (!there || at.units == there->words.size()) {
      const std::uint32_t next = children.find(at.node, node.space, words.subspan(same));
      if (next == 0) break;
      at = {next, page};
      same += page;
      add(brought, other.node(next).brought);
      continue;
    }
    const Words theirs = there->words;
    add(brought, there->brought);
    if (at.units + page > theirs.size() ||
        !std::ranges::equal(theirs.subspan(at.units, page), words.subspan(same, page)))
      break;
    at.units += page, same += page;
  }
  return same;
}

/// Returns the part of a node's first `units` units that came from a storage.
TierShares::Part part_of(const MirrorNode& node, MirrorNode::Brought brought, std::size_t units) {
  const auto within = [&](Units at) {
    const Units last = node.begin + static_cast<Units>(units);
    return static_cast<float>(std::clamp(at, node.begin, last) - node.begin) / static_cast<float>(node.length);
  };
  if (node.length == 0 || brought.until <= brought.from) return {};
  const TierShares::Part part{within(brought.from), within(brought.until)};
  return part.until > part.from ? part : TierShares::Part{};
}

}  // namespace

void TierShares::update(const Mirror& shown, const Mirror* other, std::size_t group) {
  const bool known = other && shown.has_words();
  if (!computed_.changed(&shown, shown.commits(), group, known)) return;
  known_ = known;
  shares_.assign(known_ ? shown.slots() : 0, 0);
  stored_.assign(known_ ? shown.slots() : 0, {});
  if (!known_) return;
  shown.each_node(
      [&](const MirrorNode& node) { stored_[slot_of(NodeId{node.id})] = part_of(node, node.brought, node.length); });
  const Children children(*other, group);
  struct Step {
    std::uint32_t slot;
    Place at;
  };
  std::vector<Step> steps;
  for (const Mirror::Space& space : shown.spaces())
    for (std::uint32_t slot = space.first_child; slot != 0; slot = shown.node(slot).next) steps.push_back({slot, {}});
  while (!steps.empty()) {
    Step step = steps.back();
    steps.pop_back();
    const MirrorNode& node = shown.node(step.slot);
    MirrorNode::Brought brought{};
    const std::size_t same = follow(node, step.at, *other, children, shown.page_size(), brought);
    // Only one of the two tiers receives reports about a storage.
    if (const Part part = part_of(node, brought, same); part.until > 0) stored_[step.slot] = part;
    shares_[step.slot] = node.length == 0 ? 0 : static_cast<float>(same) / static_cast<float>(node.length);
    if (same != node.length) continue;
    for (std::uint32_t child = node.first_child; child != 0; child = shown.node(child).next)
      steps.push_back({child, step.at});
  }
}

}  // namespace canopy::inspector
