/// The part of HashChain that does not serve requests.
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
  return {(sizes_.evictable + sizes_.protected_) / page_size_, bytes, refused_, cut_short_};
}

bool HashChain::use_policy(std::size_t, EvictionStrategy* policy) {
  if (!is_least_recently_used(*policy)) return false;
  policy_ = policy;
  for (std::uint32_t slot = 1; slot < prefixes_.slots(); ++slot) prefixes_[slot].tag = 0;
  return true;
}

void HashChain::waiting(std::size_t, QueueVisitor& visitor) const {
  for (Page page = blocks_.first(); page != 0; page = blocks_[page].after) {
    const NodeFacts node = facts(page);
    visitor.waiting(node, policy_->rank(node));
  }
}

void HashChain::remap(std::size_t, std::span<const Page> from, std::span<const Page> to) {
  if (!to.empty()) blocks_.reach(*std::ranges::max_element(to));
  for (std::size_t i = 0; i < from.size(); ++i) {
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
    NodeView view;
    view.parent = prefixes_.id(prefixes_[slot].parent);
    view.words = prefixes_.words(slot);
    for (Page page = prefixes_[slot].first; page != 0; page = blocks_[page].twin) {
      view.facts = facts(page);
      view.pages[0] = {&page, 1};
      view.locks[0] = blocks_[page].users;
      visitor.node(view);
    }
  }
}

}  // namespace canopy::hash_chain
