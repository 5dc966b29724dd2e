#pragma once

#include <canopy/prefix_index.h>

#include <array>

#include "column.h"
#include "node_table.h"

namespace canopy::radix {

/// The root and the sizes of each namespace, and the sizes of all together. A namespace without nodes costs only its
/// counters.
class Spaces {
 public:
  /// Returns the root of a namespace; 0 if it has no nodes.
  Slot root(NamespaceId space) const { return known(space) ? at(space).root : 0; }
  /// Makes room for the namespace. Returns false if the system has no memory.
  bool reserve(NamespaceId space) { return known(space) || spaces_.resize(static_cast<std::size_t>(space) + 1); }
  /// REQUIRES: reserve.
  void set_root(NamespaceId space, Slot root) { at(space).root = root; }
  /// Returns a number above the number of every namespace.
  std::size_t count() const { return spaces_.size(); }

  const Sizes& sizes(std::size_t group) const { return all_[group]; }
  Sizes sizes(std::size_t group, NamespaceId space) const { return known(space) ? at(space).sizes[group] : Sizes{}; }
  /// Adds units that became resident.
  void add_resident(NamespaceId space, std::size_t group, Units units, bool is_protected) {
    for (Sizes* sizes : {&all_[group], &at(space).sizes[group]})
      (is_protected ? sizes->protected_ : sizes->evictable) += units;
  }
  /// Removes evictable units that are no longer resident.
  void remove_resident(NamespaceId space, std::size_t group, Units units) {
    for (Sizes* sizes : {&all_[group], &at(space).sizes[group]}) sizes->evictable -= units;
  }
  /// Moves resident units from evictable to protected, or back.
  void set_protected(NamespaceId space, std::size_t group, Units units, bool is_protected) {
    for (Sizes* sizes : {&all_[group], &at(space).sizes[group]}) {
      (is_protected ? sizes->protected_ : sizes->evictable) += units;
      (is_protected ? sizes->evictable : sizes->protected_) -= units;
    }
  }
  void clear() {
    spaces_.clear_to_zero();
    all_ = {};
  }
  std::size_t resident() const { return spaces_.resident(); }

 private:
  struct Space {
    Slot root;
    Sizes sizes[kMaxGroups];
  };
  bool known(NamespaceId space) const { return static_cast<std::size_t>(space) < spaces_.size(); }
  Space& at(NamespaceId space) { return spaces_[static_cast<std::size_t>(space)]; }
  const Space& at(NamespaceId space) const { return spaces_[static_cast<std::size_t>(space)]; }

  std::array<Sizes, kMaxGroups> all_{};
  Column<Space> spaces_;
};

}  // namespace canopy::radix
