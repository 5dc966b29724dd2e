#pragma once

#include <canopy/engine/engine_config.h>
#include <canopy/engine/state.h>

#include <deque>
#include <span>
#include <vector>

#include "pages/below.h"
#include "pages/page_flow.h"
#include "tiers/departures.h"
#include "tiers/host_pages.h"
#include "tiers/lane.h"

namespace canopy {

/// A tier below the pools: an index of its own over pages of its own, whose bytes are images in memory of the host. It
/// has copies of what the pools had. A prefix is in both, in one or in none, and no node knows of the other tier.
///
/// A copy to the tier, in three steps:
///   begun    its pages are taken here, evicting by this tier's policy, and the store is told to save into them. The
///            pages above are free to leave at once, since the store saves before it writes them again. From now on the
///            pages are `moving`: neither free nor in an index
///   ended    some turn() after the lane is through: the pages are inserted below what this tier has of the path
///   given up what precedes them has left meanwhile, or was flushed: the pages are freed
/// Nothing else makes a copy visible, so no match ever finds a page whose bytes are not complete.
class HostTier final : public Below {
 public:
  /// REQUIRES: `device`, the state above, outlives it. state() is filled and open() is called before anything else.
  HostTier(EngineState& device, HostTierConfig config);

  /// Of this tier: its index, pools, ledger and counters. No request lives here.
  EngineState& state() { return state_; }
  const EngineState& state() const { return state_; }
  PageFlow& pages() { return pages_; }
  /// The pools of `device` and of state() are there. `header_bytes`: in front of each image, for a storage below.
  void open(std::uint64_t header_bytes = 0);

  LeavingVisitor* leaving() override;
  void left() override;
  void inserted(const Key& key, const Lock& lock, std::int32_t priority) override;
  HotPath* watches() override { return config_.write == WritePolicy::write_through_selective ? &hot_ : nullptr; }
  void ended(const Key& key, std::int32_t priority) override;
  void flushed(NamespaceId space) override;
  /// No further copy to this tier begins.
  void stop() { config_.write = WritePolicy::none; }
  /// Takes the memory of all pages now, so that no copy finds none later. False if the system does not have it.
  bool take_memory();

  /// Copies that have ended by then are inserted.
  void turn(std::uint64_t now_us);
  /// When the next copy to this tier ends; kUnlimited: none is on its way.
  std::uint64_t next_us() const { return copies_.empty() ? kUnlimited : copies_.front().ends_us; }
  std::uint64_t now_us() const { return now_us_; }

  /// Copies pages from here to the pools: `to[i]` of `group` gets what `from[i]` has here. Returns when it ends;
  /// `ticket` is the store's number of it.
  std::uint64_t load(std::span<const std::vector<Page>> from, std::span<const std::vector<Page>> to,
                     std::span<std::uint64_t> tickets);
  /// How long such a copy of the last `units` of a path would take if it began now, behind what is on its way.
  std::uint64_t load_us(Units units) const;
  /// Bytes that pages of a group take in a simulated lane.
  std::uint64_t lane_bytes(std::size_t group, std::uint64_t pages) const {
    return pages * (config_.kv_bytes > 0 ? config_.kv_bytes * state_.page_size : images_[group].image_bytes());
  }

  /// The memory behind the pages of a group.
  HostPages& images(std::size_t group) { return images_[group]; }
  /// Begins to copy a whole path from the pools, if they have it, whatever the policy.
  void copy_down(const Key& key, std::int32_t priority);
  /// How many units of a path the copies that are on their way bring, in whole pages.
  Units on_its_way(const Key& key) const;
  /// A lock on exactly `length` units of a path; an empty one if they are not here.
  Lock lock_on(const Key& key, Units length);

  void wait_for_loads(std::span<const std::uint64_t> tickets);

  const HostTierConfig& config() const { return config_; }
  /// Pages that copies to this tier fill, for the audit.
  std::array<std::vector<Page>, kMaxGroups> moving() const;

 private:
  struct Copy {
    NamespaceId space{};
    std::int32_t priority = 0;
    bool unwanted = false;               ///< its namespace was flushed since
    std::vector<std::uint32_t> words{};  ///< of the whole path
    Units from = 0;                      ///< where its pages begin
    std::array<std::vector<Page>, kMaxGroups> pages{};
    Lock lock{};  ///< on what this tier had of the path, so that it stays until then
    std::uint64_t ends_us = 0;
    std::array<std::uint64_t, kMaxGroups> tickets{};
    std::uint64_t bytes = 0, lane_bytes = 0;
  };

  void copy(NamespaceId space, std::vector<std::uint32_t> words, const GroupPages& from, std::int32_t priority);
  std::size_t make_room(const GroupPages& from, std::size_t first, std::size_t count);
  bool take_pages(Copy& copy, const GroupPages& from, std::size_t count);
  bool save(Copy& copy, const GroupPages& from);
  void arrive(Copy& copy);
  void free(const Copy& copy, std::size_t first_page);
  Units units_of(std::span<const std::uint32_t> words) const {
    return static_cast<Units>(words.size()) - state_.overlap;
  }
  void sync(KVStore& store);

  EngineState& device_;
  HostTierConfig config_;
  EngineState state_;
  PageFlow pages_{state_};
  std::vector<HostPages> images_;  ///< by group
  Departures departures_;
  HotPath hot_;
  Lane store_lane_, load_lane_;
  std::deque<Copy> copies_;  ///< on their way, in the order in which they began and end
  std::vector<Page> scratch_;
  std::vector<std::byte*> targets_;
  std::vector<const std::byte*> sources_;
  std::uint64_t begun_ = 0, now_us_ = 0;
};

}  // namespace canopy
