#include "reuse_tree.h"

#include <cmath>

namespace canopy::hazard {
namespace {

constexpr double kLent = 10;        ///< weight of the group above, in observations
constexpr double kOwn = 0.15;       ///< weight of the bin before, as a share of the most observations in one so far
constexpr double kLentAtFirst = 4;  ///< weight of the prior
constexpr double kYoungest = 20;    ///< ages below it are alike to the prior

/// Returns the hazard without data, in proportion to the bin's part of the logarithm of the age: about 0.3 / age.
double prior(std::size_t bin) {
  return std::min(0.9, 0.3 * std::log((kBinEdges[bin + 1] + kYoungest) / (kBinEdges[bin] + kYoungest)));
}

}  // namespace

ReuseTree::Group ReuseTree::make(Group above) {
  if (nodes_.size() == kMostGroups) return above;
  nodes_.emplace_back(Node{.above = above});
  curves_.emplace_back();
  return static_cast<Group>(nodes_.size() - 1);
}

ReuseTree::Group ReuseTree::find(NamespaceId space, std::size_t of_class) {
  Group& all_spaces = of_class_[of_class];
  if (all_spaces == 0) {
    Group& uses = of_hint_[uses_in(of_class)];
    if (uses == 0) uses = make(0);
    Group& hinted = of_hint_[hint_in(of_class) << 3 | uses_in(of_class)];
    if (hinted == 0) hinted = make(uses);
    all_spaces = make(hinted);
  }
  if (space == NamespaceId::shared) return all_spaces;
  Group& own = of_space_[static_cast<std::uint64_t>(space) << kClassBits | of_class];
  return own != 0 ? own : own = make(all_spaces);
}

void ReuseTree::add(Group group, std::size_t bin, std::size_t end, const Reuse& more) {
  ReuseByAge& counts = nodes_[group].own;
  counts[bin].returned += more.returned;
  for (; bin < end; ++bin) counts[bin].survived += more.survived;
}

void ReuseTree::fit(double part) {
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    for (Reuse& count : nodes_[i].own) count.returned *= part, count.survived *= part;
    nodes_[i].all = nodes_[i].own;
    nodes_[i].estimated = curves_[i].read = false;
  }
  for (std::size_t i = nodes_.size(); i-- > 1;)
    for (std::size_t bin = 0; bin < kBins; ++bin) {
      Reuse& above = nodes_[nodes_[i].above].all[bin];
      above.returned += nodes_[i].all[bin].returned, above.survived += nodes_[i].all[bin].survived;
    }
}

/// Estimates a group and those above it: five at most.
const ReuseTree::Node& ReuseTree::estimate(Group group) {
  Node& node = nodes_[group];
  if (node.estimated) return node;
  const Node* const above = group == 0 ? nullptr : &estimate(node.above);
  const double lent = above ? kLent : kLentAtFirst;
  double own = 0;  // weight of the bin before
  for (std::size_t bin = 0; bin < kBins; ++bin) {
    const Reuse& seen = node.all[bin];
    const double before = own > 0 ? own * node.hazards[bin - 1] : 0;
    node.hazards[bin] =
        (seen.returned + lent * (above ? above->hazards[bin] : prior(bin)) + before) / (seen.all() + lent + own);
    if (above && bin > 0) own = std::max(own, std::min(kLent, kOwn * seen.all()));
  }
  node.estimated = true;
  return node;
}

const ReuseTree::Curve& ReuseTree::read(Group group) {
  return curves_[group] = {indexes_of(estimate(group).hazards), true};
}

}  // namespace canopy::hazard
