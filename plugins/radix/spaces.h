#pragma once

#include <canopy/prefix_index.h>

#include <algorithm>
#include <array>

#include "column.h"
#include "node_table.h"

namespace canopy::radix {

/// The root, the tenant and the sizes of each namespace, the sizes of each tenant once one was assigned, and the sizes
/// of all together. A namespace without nodes costs only its counters.
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

  TenantId tenant(NamespaceId space) const { return known(space) ? at(space).tenant : TenantId::unnamed; }
  /// Makes room for the sizes of a tenant. Returns false if the system has no memory.
  bool reserve(TenantId tenant) {
    const std::size_t count = static_cast<std::size_t>(tenant) + 1;
    return count <= tenants_.size() || tenants_.resize(count);
  }
  /// Moves a namespace and its sizes to a tenant. REQUIRES: both are reserved.
  void assign(NamespaceId space, TenantId tenant) {
    Space& moved = at(space);
    for (std::size_t g = 0; g < kMaxGroups; ++g) {
      Sizes &from = of(moved.tenant).sizes[g], &to = of(tenant).sizes[g];
      from.evictable -= moved.sizes[g].evictable, from.protected_ -= moved.sizes[g].protected_;
      to.evictable += moved.sizes[g].evictable, to.protected_ += moved.sizes[g].protected_;
    }
    moved.tenant = tenant;
  }
  /// Counts all present namespaces for the unnamed tenant. REQUIRES: reserve(TenantId::unnamed), no assign so far.
  void begin_tenants() { std::copy(all_.begin(), all_.end(), of(TenantId::unnamed).sizes); }

  const Sizes& sizes(std::size_t group) const { return all_[group]; }
  Sizes sizes(std::size_t group, NamespaceId space) const { return known(space) ? at(space).sizes[group] : Sizes{}; }
  Sizes sizes(std::size_t group, TenantId tenant) const {
    const auto number = static_cast<std::size_t>(tenant);
    return number < tenants_.size() ? tenants_[number].sizes[group] : Sizes{};
  }
  /// Adds units that became resident.
  void add_resident(NamespaceId space, std::size_t group, std::uint64_t units, bool is_protected) {
    add(space, group, is_protected ? 0 : units, is_protected ? units : 0);
  }
  /// Removes evictable units that are no longer resident.
  void remove_resident(NamespaceId space, std::size_t group, std::uint64_t units) { add(space, group, 0 - units, 0); }
  /// Moves resident units from evictable to protected, or back.
  void set_protected(NamespaceId space, std::size_t group, std::uint64_t units, bool is_protected) {
    const std::uint64_t more = is_protected ? units : 0 - units;
    add(space, group, 0 - more, more);
  }
  /// Forgets roots and sizes. A namespace stays with its tenant.
  void clear() {
    if (tenants_.size() == 0) spaces_.clear_to_zero();
    for (std::size_t i = 0; i < spaces_.size(); ++i) spaces_[i] = {0, spaces_[i].tenant, {}};
    for (std::size_t i = 0; i < tenants_.size(); ++i) tenants_[i] = {};
    all_ = {};
  }
  std::size_t resident() const { return spaces_.resident() + tenants_.resident(); }

 private:
  struct Space {
    Slot root;
    TenantId tenant;
    Sizes sizes[kMaxGroups];
  };
  struct Tenant {
    Sizes sizes[kMaxGroups];
  };
  /// Adds to the sizes of a namespace, its tenant and all together; a number below 0 wraps.
  void add(NamespaceId space, std::size_t group, std::uint64_t evictable, std::uint64_t protected_) {
    const auto add_to = [&](Sizes& sizes) { sizes.evictable += evictable, sizes.protected_ += protected_; };
    Space& of_space = at(space);
    add_to(all_[group]);
    add_to(of_space.sizes[group]);
    if (tenants_.size() > 0) [[unlikely]]
      add_to(of(of_space.tenant).sizes[group]);
  }
  Tenant& of(TenantId tenant) { return tenants_[static_cast<std::size_t>(tenant)]; }
  bool known(NamespaceId space) const { return static_cast<std::size_t>(space) < spaces_.size(); }
  Space& at(NamespaceId space) { return spaces_[static_cast<std::size_t>(space)]; }
  const Space& at(NamespaceId space) const { return spaces_[static_cast<std::size_t>(space)]; }

  std::array<Sizes, kMaxGroups> all_{};
  Column<Space> spaces_;
  Column<Tenant> tenants_;  ///< empty before the first assign
};

}  // namespace canopy::radix
