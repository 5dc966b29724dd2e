#pragma once

#include <canopy/prefix_index.h>

#include <vector>

#include "port.h"

namespace canopy {

struct CacheState;

/// An index whose results have a valid shape: depths in whole pages and within the key, as many pages as the depths
/// require, and page numbers that the pools have. Pool checks that freed pages were in use.
class IndexPort final : public Port<PrefixIndex> {
 public:
  /// The reason why use_policy() returns false.
  static constexpr const char* kOtherOrder =
      "the index evicts in an order of its own, which is not that of this policy";

  /// REQUIRES: `state` outlives all calls.
  IndexPort(std::shared_ptr<PrefixIndex> index, std::string name, CacheState& state);

  Probe peek(const Key& key) const;
  Lock match(const Key& key, const RequestFacts& request);
  Found find(const Key& key);
  void prefetch(std::span<const Key> keys) const { call("prefetch", &PrefixIndex::prefetch, keys); }
  Lock hold(NodeId node);
  // Both return none, of no group, if the index cannot list them or lists wrong ones.
  GroupPages pages(const Lock& lock, Units from = 0);
  GroupPages pages(const Found& found);
  Inserted insert(const Lock& lock, const Key& key, const GroupPages& pages, InsertFacts facts);
  void relax(Lock& lock, std::size_t group, Units from);
  GroupPages release(const Lock& lock, const RequestFacts* ended) {
    return counted("release", call("release", &PrefixIndex::release, lock, ended));
  }
  /// `visitor` may be null (no tier below).
  GroupPages evict(std::size_t group, std::size_t pages, Cause cause, LeavingVisitor* visitor);
  // Tenants. REQUIRES: keeps_tenants().
  bool keeps_tenants() const { return tenants_ != nullptr; }
  bool assign(NamespaceId space, TenantId tenant) {
    return call("assign", [&](PrefixIndex&) { return tenants_->assign(space, tenant); });
  }
  bool use_policy(std::size_t group, TenantId tenant, EvictionStrategy* policy) {
    return call("use_policy", [&](PrefixIndex&) { return tenants_->use_policy(group, tenant, policy); });
  }
  Sizes sizes(std::size_t group, TenantId tenant) const {
    return summed(read("sizes", [&](PrefixIndex&) { return tenants_->sizes(group, tenant); }));
  }
  /// Evicts a node of the tenant, or its last `most` pages.
  GroupPages evict_one(TenantId tenant, std::size_t group, std::size_t most, Cause cause, LeavingVisitor* visitor);
  Units keep(const Lock& lock) {
    return call("keep", [&](PrefixIndex&) { return tenants_->keep(lock); });
  }
  Units unkeep(const Lock& lock) {
    return call("unkeep", [&](PrefixIndex&) { return tenants_->unkeep(lock); });
  }
  Units unkept(NodeId node) const {
    return call("unkept", [&](PrefixIndex&) { return tenants_->unkept(node); });
  }

  GroupPages flush(NamespaceId space) { return counted("flush", call("flush", &PrefixIndex::flush, space)); }
  Sizes sizes(std::size_t group) const {
    return summed(read("sizes", [&](PrefixIndex& index) { return index.sizes(group); }));
  }
  Tick now() const { return read("now", &PrefixIndex::now); }
  bool use_policy(std::size_t group, EvictionStrategy* policy) {
    bool follows = true;  // an index that throws may have kept the pointer, so the pool must keep the policy
    call("use_policy", [&](PrefixIndex& index) { follows = index.use_policy(group, policy); });
    return follows;
  }
  /// Returns false if it threw, or gave a node that is no node: there may be others.
  bool visit(NodeVisitor& visitor) const;
  void order_by_weight(std::span<const NodeId> ends, std::span<std::uint32_t> order) const;

 private:
  Units units_of(const Key& key) const;
  bool whole(Units units) const;
  bool sound(const Lock& lock, Units most) const;
  Page numbers(std::size_t group) const;
  GroupPages numbered(const GroupPages& pages, std::size_t count);
  GroupPages counted(const char* function, GroupPages pages) const;
  Sizes summed(Sizes reported) const;

  template <class Evict>
  GroupPages visited(LeavingVisitor* visitor, Evict&& evict);

  CacheState& state_;
  TenantIndex* tenants_;  ///< may be null (the index keeps no tenants apart)
};

}  // namespace canopy
