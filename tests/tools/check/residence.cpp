#include "residence.h"

#include <algorithm>

namespace canopy::check {

struct Residence::Walk final : NodeVisitor {
  Residence& residence;
  std::span<const Token> words;
  NamespaceId space;
  Units page;
  std::size_t groups;
  Walk(Residence& of, std::span<const Token> all, NamespaceId in)
      : residence(of), words(all), space(in), page(of.engine_.page_size()), groups(of.engine_.groups()) {}
  bool agreed(NodeId node) const {
    const std::uint32_t slot = slot_of(node);
    return slot < residence.agrees_.size() && residence.agrees_[slot] == node;
  }
  void node(const NodeView& node) override {
    if (node.facts.space != space || (node.parent != NodeId::none && !agreed(node.parent))) return;
    const Units overlap = static_cast<Units>(node.words.size()) - node.facts.length;
    Units agrees = 0;
    for (; agrees < node.facts.length; agrees += page) {
      const std::size_t first = node.facts.begin + agrees, last = first + page + overlap;
      if (last > words.size() ||
          !std::equal(words.begin() + static_cast<std::ptrdiff_t>(first),
                      words.begin() + static_cast<std::ptrdiff_t>(last), node.words.begin() + agrees,
                      [&](Token token, std::uint32_t word) { return (token ^ residence.flips_) == word; }))
        return;
      if (residence.boundaries_.size() <= first / page) residence.boundaries_.resize(first / page + 1);
      for (std::size_t g = 0; g < groups; ++g) residence.boundaries_[first / page].resident[g] = !node.pages[g].empty();
    }
    if (life_of(node.facts.id) == 0) return;  // a twin: its prefix is the parent
    const std::uint32_t slot = slot_of(node.facts.id);
    if (slot >= residence.agrees_.size()) residence.agrees_.resize(slot + 1);
    residence.agrees_[slot] = node.facts.id;
  }
};

std::uint32_t Residence::of(std::span<const Token> tokens, NamespaceId space) {
  boundaries_.clear();
  std::ranges::fill(agrees_, NodeId::none);
  Walk walk(*this, tokens, space);
  engine_.index().visit(walk);
  for (std::size_t pages = boundaries_.size(); pages > 0; --pages) {
    bool serves = true;
    for (std::size_t g = 0; g < engine_.groups() && serves; ++g) {
      const std::uint64_t length = pages * engine_.page_size(), reach = engine_.pool(g).needs().reach;
      for (std::size_t i = reach >= length ? 0 : (length - reach) / engine_.page_size(); i < pages && serves; ++i)
        serves = boundaries_[i].resident[g];
    }
    if (serves) return static_cast<std::uint32_t>(pages * engine_.page_size());
  }
  return 0;
}

}  // namespace canopy::check
