/// What HashChain does beside serving requests.
#include <algorithm>

#include "hash_chain.h"

namespace canopy::hash_chain {

Sizes HashChain::sizes(std::size_t, NamespaceId space) const {
  const auto number = static_cast<std::size_t>(space);
  return number < by_space_.size() ? by_space_[number] : Sizes{};
}

IndexUse HashChain::use() const {
  const std::size_t bytes = blocks_.bytes() + prefixes_.bytes() + tables_.bytes() +
                            by_space_.capacity() * sizeof(Sizes) +
                            (path_.capacity() + given_back_.capacity()) * sizeof(Page);
  return {prefixes_.count(), bytes, refused_, cut_short_};
}

void HashChain::use_policy(std::size_t, EvictionStrategy* policy) {
  policy_ = policy;
  for (std::uint32_t slot = 1; slot < prefixes_.slots(); ++slot) prefixes_[slot].tag = 0;
}

void HashChain::waiting(std::size_t, QueueVisitor& visitor) const {
  for (Page page = blocks_.first(); page != 0; page = blocks_[page].after) {
    const std::uint32_t prefix = blocks_[page].prefix;
    if (prefixes_[prefix].first != page) continue;  // a node is one, however many blocks it has
    const NodeFacts node = facts(prefix);
    visitor.waiting(node, policy_->rank(node));
  }
}

void HashChain::remap(std::size_t, std::span<const Page> from, std::span<const Page> to) {
  for (std::size_t i = 0; i < from.size(); ++i) {
    blocks_.reach(to[i]);
    Prefix& prefix = prefixes_[blocks_[from[i]].prefix];
    Page* link = &prefix.first;
    while (*link != from[i]) link = &blocks_[*link].twin;
    *link = to[i];
    if (prefix.last == from[i]) prefix.last = to[i];
    blocks_.relocate(from[i], to[i]);
  }
}

void HashChain::visit(NodeVisitor& visitor) const {
  std::vector<std::uint32_t> by_age;
  by_age.reserve(prefixes_.count());
  for (std::uint32_t slot = 1; slot < prefixes_.slots(); ++slot)
    if (prefixes_[slot].depth != 0) by_age.push_back(slot);
  std::ranges::sort(by_age, {}, [&](std::uint32_t slot) { return prefixes_[slot].number; });
  for (const std::uint32_t slot : by_age) {
    const Prefix& prefix = prefixes_[slot];
    NodeView view;
    view.facts = facts(slot);
    view.parent = prefixes_.id(prefix.parent);
    view.words = prefixes_.words(slot);
    if (prefix.first) view.pages[0] = {&prefix.first, 1};
    for (Page page = prefix.first; page != 0; page = blocks_[page].twin) view.locks[0] += blocks_[page].users;
    visitor.node(view);
  }
}

}  // namespace canopy::hash_chain
