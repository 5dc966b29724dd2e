#pragma once

#include <canopy/engine/state.h>
#include <canopy/prefix_index.h>

#include <memory>
#include <vector>

#include "guard/guard.h"

namespace canopy {

/// An index whose results have a possible shape: depths in whole pages and within the key, as many pages as the depths
/// say, and numbers that the pools have. That the pages are out is Pool's to check when they come back.
class IndexGuard final : public PrefixIndex, public Guard {
  static_assert(std::string_view(kInterface) == "canopy.PrefixIndex/8", "hand on the new functions too");

 public:
  /// REQUIRES: `state` outlives all calls.
  IndexGuard(std::shared_ptr<PrefixIndex> index, std::string component, EngineState& state)
      : Guard(std::move(component), state.ledger), index_(std::move(index)), state_(state) {}

  Probe peek(const Key& key) const override;
  Lock match(const Key& key, const RequestFacts& request) override;
  Found find(const Key& key) override;
  Lock hold(NodeId node, const RequestFacts* arrives) override;
  GroupPages pages(const Lock& lock, Units from) override;
  GroupPages pages(NodeId node, Units from) override;
  Inserted insert(const Lock& lock, const Key& key, const GroupPages& pages, InsertFacts facts) override;
  void relax(Lock& lock, std::size_t group, Units from) override;
  GroupPages release(const Lock& lock, const RequestFacts* ended) override {
    return counted("release", ask("release", [&] { return index_->release(lock, ended); }));
  }
  GroupPages evict(std::size_t group, std::size_t pages, Cause cause, LeavingVisitor* told) override;
  GroupPages flush(NamespaceId space) override {
    return counted("flush", ask("flush", [&] { return index_->flush(space); }));
  }
  GroupPages clear() override {
    return counted("clear", ask("clear", [&] { return index_->clear(); }));
  }
  Sizes sizes(std::size_t group) const override {
    return summed(look("sizes", [&] { return index_->sizes(group); }));
  }
  Sizes sizes(std::size_t group, NamespaceId space) const override {
    return summed(ask("sizes", [&] { return index_->sizes(group, space); }));
  }
  IndexUse use() const override {
    return ask("use", [&] { return index_->use(); });
  }
  Tick now() const override {
    return look("now", [&] { return index_->now(); });
  }
  void set_capacity(std::size_t group, std::uint64_t units) override {
    ask("set_capacity", [&] { index_->set_capacity(group, units); });
  }
  void use_policy(std::size_t group, EvictionStrategy* policy) override {
    ask("use_policy", [&] { index_->use_policy(group, policy); });
  }
  void waiting(std::size_t group, QueueVisitor& visitor) const override {
    ask("waiting", [&] { index_->waiting(group, visitor); });
  }
  void remap(std::size_t group, std::span<const Page> from, std::span<const Page> to) override {
    ask("remap", [&] { index_->remap(group, from, to); });
  }
  void order_by_weight(std::span<const NodeId> ends, std::span<std::uint32_t> order) const override;
  void visit(NodeVisitor& visitor) const override {
    ask("visit", [&] { index_->visit(visitor); });
  }

 private:
  Units units_of(const Key& key) const {
    const std::size_t words = key.words.size();
    return static_cast<Units>(words > state_.overlap ? words - state_.overlap : 0);
  }
  bool whole(Units units) const { return units % state_.page_size == 0; }
  bool sound(const Lock& lock, Units most) const;
  Page numbers(std::size_t group) const;
  GroupPages numbered(GroupPages pages, std::size_t count);
  GroupPages counted(const char* function, GroupPages pages) const;
  Sizes summed(Sizes said) const;

  std::shared_ptr<PrefixIndex> index_;
  EngineState& state_;
  std::vector<Page> no_pages_;  ///< zeroes, in place of a row that has another length
};

}  // namespace canopy
