#pragma once

#include <canopy/prefix_index.h>

#include <vector>

namespace canopy::test {

/// An index that does nothing. It returns what a test sets, and counts the keys of each call to prefetch().
struct ScriptedIndex : PrefixIndex {
  Inserted inserted;
  Probe peek(const Key&) const override { return {}; }
  Lock match(const Key&, const RequestFacts&) override { return {}; }
  Found find(const Key&) override { return {}; }
  mutable std::vector<std::size_t> prefetched;
  void prefetch(std::span<const Key> keys) const override { prefetched.push_back(keys.size()); }
  Lock hold(NodeId, const RequestFacts*) override { return {}; }
  GroupPages pages(const Lock&, Units) override { return {}; }
  GroupPages pages(NodeId, Units) override { return {}; }
  Inserted insert(const Lock&, const Key&, const GroupPages&, InsertFacts) override { return inserted; }
  void relax(Lock&, std::size_t, Units) override {}
  GroupPages release(const Lock&, const RequestFacts*) override { return {}; }
  GroupPages evict(std::size_t, std::size_t, Cause, LeavingVisitor*) override { return {}; }
  Sizes sizes(std::size_t) const override { return {}; }
  Sizes sizes(std::size_t, NamespaceId) const override { return {}; }
};

}  // namespace canopy::test
