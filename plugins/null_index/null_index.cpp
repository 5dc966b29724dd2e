#include <canopy/plugin.h>

#include <vector>

namespace {

using namespace canopy;

/// An index without nodes: switches the cache off without an `if` anywhere else.
class NullIndex final : public PrefixIndex {
 public:
  explicit NullIndex(const Context& context) : groups_(context.groups.begin(), context.groups.end()) {}

  Probe peek(const Key&) const override { return {}; }
  Lock match(const Key&, const RequestFacts& request) override {
    for (const Group& group : groups_) group.eviction->arrived(request);
    return {};
  }
  Found find(const Key&) override { return {}; }
  Lock hold(NodeId, const RequestFacts*) override { return {}; }
  GroupPages pages(const Lock&, Units) override { return {}; }
  GroupPages pages(NodeId, Units) override { return {}; }
  Inserted insert(const Lock&, const Key&, const GroupPages&, InsertFacts) override { return {}; }
  void relax(Lock&, std::size_t, Units) override {}
  GroupPages release(const Lock& lock, const RequestFacts* ended) override {
    if (lock.id != LockId::none) ++refused_;
    NoPath none;
    for (const Group& group : groups_)
      if (ended) group.eviction->ended(*ended, none);
    return {};
  }
  GroupPages evict(std::size_t, std::size_t, Cause, LeavingVisitor*) override { return {}; }
  using IndexUpkeep::sizes;
  Sizes sizes(std::size_t) const override { return {}; }
  IndexUse use() const override { return {0, 0, refused_}; }
  bool use_policy(std::size_t group, EvictionStrategy* policy) override {
    groups_[group].eviction = policy;
    return true;
  }

 private:
  struct NoPath final : Path {
    bool next(NodeFacts&) override { return false; }
  };
  std::vector<Group> groups_;
  std::uint64_t refused_ = 0;
};

}  // namespace

CANOPY_PLUGIN("1.0.0", canopy::provide<canopy::PrefixIndex, NullIndex>("null", "keeps no prefix: the cache is off"));
