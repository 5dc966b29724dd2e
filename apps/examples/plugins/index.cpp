#include <canopy/plugin.h>

#include <vector>

/// Keeps no prefix yet: begin with insert() and match(). An index that keeps nodes overrides all of IndexUpkeep, and
/// reports them to Context::events. Calls: canopy/prefix_index.h; plugins/hash_chain is a whole one in 900 lines.
class Example final : public canopy::PrefixIndex {
 public:
  explicit Example(const Context& context) : groups_(context.groups.begin(), context.groups.end()) {}

  canopy::Probe peek(const canopy::Key&) const override { return {}; }
  canopy::Lock match(const canopy::Key&, const canopy::RequestFacts& request) override {
    for (const canopy::Group& group : groups_) group.eviction->arrived(request);
    return {};  // nothing is resident
  }
  canopy::Found find(const canopy::Key&) override { return {}; }
  canopy::Lock hold(canopy::NodeId, const canopy::RequestFacts*) override { return {}; }
  canopy::GroupPages pages(const canopy::Lock&, canopy::Units) override { return {}; }
  canopy::GroupPages pages(canopy::NodeId, canopy::Units) override { return {}; }
  /// Takes no page: a lock that is shallower than the key leaves the rest with the caller.
  canopy::Inserted insert(const canopy::Lock&, const canopy::Key&, const canopy::GroupPages&,
                          canopy::InsertFacts) override {
    return {};
  }
  void relax(canopy::Lock&, std::size_t, canopy::Units) override {}
  canopy::GroupPages release(const canopy::Lock& lock, const canopy::RequestFacts* ended) override {
    if (lock.id != canopy::LockId::none) ++refused_;  // it returned no such lock
    NoPath path;
    for (const canopy::Group& group : groups_)
      if (ended) group.eviction->ended(*ended, path);
    return {};
  }
  canopy::GroupPages evict(std::size_t, std::size_t, canopy::Cause, canopy::LeavingVisitor*) override { return {}; }
  using IndexUpkeep::sizes;
  canopy::Sizes sizes(std::size_t) const override { return {}; }
  canopy::IndexUse use() const override { return {.refused = refused_}; }
  bool use_policy(std::size_t group, canopy::EvictionStrategy* policy) override {
    groups_[group].eviction = policy;
    return true;
  }

 private:
  struct NoPath final : canopy::Path {
    bool next(canopy::NodeFacts&) override { return false; }
  };
  std::vector<canopy::Group> groups_;
  std::uint64_t refused_ = 0;
};

CANOPY_PLUGIN("0.1.0", canopy::provide<canopy::PrefixIndex, Example>("example",
                                                                     "describe in one line which prefixes are found"));
