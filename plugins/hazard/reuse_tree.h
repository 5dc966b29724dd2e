#pragma once

#include <canopy/types.h>

#include <array>
#include <unordered_map>
#include <vector>

#include "classes.h"
#include "curve.h"

namespace canopy::hazard {

/// Counts of one group and bin: the weight that was used again at these ages, and the weight that was not and grew
/// older.
struct Reuse {
  double returned = 0, survived = 0;
  double all() const { return returned + survived; }
};
using ReuseByAge = std::array<Reuse, kBins>;

/// The counts of reuse, which fade, and the curves that follow from them. Counts belong to groups, which form a tree:
///
///   all uses > uses with the same number > and the same hint > a class (classes.h) > a class in one namespace
///
/// A group with few counts leans on the group above it, and a bin with few counts on the bin before it: of a popular
/// prefix hardly any life grows old, which does not make the old ones worthless. In a bin with `all` = returned +
/// survived observations:
///
///   own    = min(10, 15 % of the most observations in a bin before, the first excepted; 0 for all uses together)
///   hazard = (returned + 10 * hazard of the group above + own * hazard of the bin before) / (all + 10 + own)
///
/// Above the first group stands a prior of about 0.3 / age with a weight of 4. Under it alone the oldest token has the
/// lowest index: without data the order is that of lru.
class ReuseTree {
 public:
  using Group = std::uint16_t;
  static constexpr std::size_t kMostGroups = 4096;  ///< beyond them a class has the group above it

  ReuseTree() { make(0); }
  /// Returns the group of a class in a namespace. It is made on its first use. REQUIRES: of_class < kClasses.
  Group group(NamespaceId space, std::size_t of_class) {
    const Group all_spaces = of_class_[of_class];
    return space == NamespaceId::shared && all_spaces != 0 ? all_spaces : find(space, of_class);
  }

  /// Adds to a bin. What survived the bin also survived all bins before `end`. REQUIRES: bin < end <= kBins.
  void add(Group group, std::size_t bin, std::size_t end, const Reuse& more);
  /// Returns the counts of a group without those below it.
  const ReuseByAge& of(Group group) const { return nodes_[group].own; }
  /// Multiplies all counts by `part` and makes new curves.
  void fit(double part);
  bool learned() const { return nodes_[0].all[0].all() > 0; }  ///< true if `fit` has seen any data

  /// Returns the index at an age, interpolated between bins. REQUIRES: bin == bin_of(age).
  double index(Group group, double age, std::size_t bin) {
    const Curve& curve = curves_[group].read ? curves_[group] : read(group);
    if (bin >= kBins - 1) return double{curve.index[kBins - 1]};
    const double index = double{curve.index[bin]};
    return index + (double{curve.index[bin + 1]} - index) * (age - kBinEdges[bin]) / bin_width(bin);
  }
  double index(Group group, double age) { return index(group, age, bin_of(age)); }

 private:
  struct Node {
    Group above = 0;
    bool estimated = false;   ///< since the last fit
    ReuseByAge own{}, all{};  ///< counts of this group; those of the groups below it as well
    Hazards hazards{};        ///< estimated
  };
  struct Curve {
    std::array<float, kBins> index{};
    bool read = false;  ///< since the last fit; few groups have nodes in the queue
  };
  Group make(Group above);
  Group find(NamespaceId space, std::size_t of_class);
  const Node& estimate(Group group);
  const Curve& read(Group group);

  std::vector<Node> nodes_;                                 ///< each after the one above it
  std::vector<Curve> curves_;                               ///< apart from the nodes, because each rank reads one
  std::array<Group, kClasses> of_class_{};                  ///< 0: not made yet
  std::array<Group, 8 * (kClasses >> kHintAt)> of_hint_{};  ///< by hint and uses
  std::unordered_map<std::uint64_t, Group> of_space_;
};

}  // namespace canopy::hazard
