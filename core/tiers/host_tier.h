#pragma once

#include <canopy/engine/engine_config.h>

#include <list>
#include <span>
#include <vector>

#include <cache/cache_state.h>
#include <cache/guard/index_port.h>
#include <cache/guard/ports.h>
#include <cache/pages/page_flow.h>
#include <cache/pages/tier_listener.h>
#include "cost_model.h"
#include "departures.h"
#include "host_pages.h"

namespace canopy {

/// A tier below the pools: its own index over its own pages, whose bytes are images in host memory. It has copies of
/// what the pools had. A prefix may be in both, in one or in neither, and no node refers to the other tier.
///
/// A copy to the tier has these steps:
///   begun      its pages are taken here, evicting by this tier's policy, and the store starts to save into them. The
///              pages above may leave at once, since the store saves before it overwrites them. From now on the pages
///              are `moving`: neither free nor in an index
///   ended      in a turn() after the lane has finished, the pages are inserted below what this tier has of the path
///   abandoned  the prefix before them has left meanwhile, or was flushed: the pages are freed
/// Copies become visible only in this way, so a match never finds a page whose bytes are incomplete.
class HostTier final : public TierListener {
 public:
  /// REQUIRES: `device`, the state above, outlives this object. Fill state() and call open() before anything else.
  HostTier(CacheState& device, HostTierConfig config);
  /// Waits for the stores: until then the images are theirs.
  ~HostTier();
  HostTier(const HostTier&) = delete;

  /// Returns the state of this tier: its index, pools, ledger and counters. It has no requests.
  CacheState& state() { return state_; }
  const CacheState& state() const { return state_; }
  PageFlow& pages() { return pages_; }
  /// Completes the tier once the pools of `device` and of state() exist. `header_bytes`: bytes before each image, for a
  /// storage below.
  void open(std::uint64_t header_bytes = 0);

  LeavingVisitor* eviction_visitor() override;
  void evicted() noexcept override;
  void inserted(const Key& key, const Lock& lock, std::int32_t priority) noexcept override;
  void flushed(NamespaceId space) noexcept override;
  /// Stops further copies to this tier.
  void stop() { config_.write = WritePolicy::none; }
  /// Allocates the memory of all pages, so that no copy fails for it later. Returns false if the system does not have
  /// it.
  bool take_memory();

  /// Inserts the copies that have ended by `now_us`.
  void turn(std::uint64_t now_us);
  /// Counts that a copy of `bytes` begins or ends.
  void count_copy(HostLane lane, std::uint64_t bytes, bool begins);
  /// Returns the time at which the next copy to this tier ends; kUnlimited if none is pending.
  std::uint64_t next_us() const { return copies_.empty() ? kUnlimited : copies_.front().ends_us; }
  std::uint64_t now_us() const { return now_us_; }

  /// Copies of the stores, by group.
  struct StoreCopies {
    std::array<std::uint64_t, kMaxGroups> tickets{};  ///< as KVImages::begin_save returns them; 0: none, or done
    std::uint64_t failures = 0;                       ///< failures of the stores before they began
  };
  /// Copies pages from here to the pools: in each group, page `from[i]` here to page `to[i]` there. Sets `ends_us` to
  /// the time at which the copy ends. Returns false if a store cannot copy: the pages there then have no contents.
  bool load(std::span<const std::vector<Page>> from, std::span<const std::vector<Page>> to, StoreCopies& copies,
            std::uint64_t& ends_us);
  /// Returns the microseconds that such a copy of the last `units` of a path would take, after the pending ones.
  std::uint64_t load_us(Units units) const;
  /// Returns the bytes of a group's pages in a simulated lane.
  std::uint64_t lane_bytes(std::size_t group, std::uint64_t pages) const {
    return pages * (config_.kv_bytes > 0 ? config_.kv_bytes * state_.page_size : images_[group].image_bytes());
  }

  /// Returns the memory of a group's pages.
  HostPages& images(std::size_t group) { return images_[group]; }
  const HostPages& images(std::size_t group) const { return images_[group]; }
  /// Begins to copy a whole path from the pools, if they have it, under any write policy.
  void copy_down(const Key& key, std::int32_t priority) noexcept;
  /// Returns the units of a path, in whole pages, that pending copies bring.
  Units on_its_way(const Key& key) const;
  /// Returns a lock on exactly `length` units of a path, or an empty lock if they are not here.
  Lock lock_on(const Key& key, Units length);

  /// Locks exactly `length` units of a path while a load into the pools, or a put into a storage, reads their pages.
  /// Returns an empty lock if they are not here.
  Lock begin_reading(const Key& key, Units length);
  /// Releases such a lock. May be empty (nothing is released).
  void end_reading(const Lock& lock, NamespaceId space);
  /// Returns true if such locks kept pages from a flush of their namespace. Those are flushed with the last of the
  /// locks. Until then nothing of the namespace may be brought from here, and nothing is copied to here: it would be
  /// mixed with what was flushed.
  bool has_old_pages(NamespaceId space) const {
    const auto number = static_cast<std::size_t>(space);
    return number < readings_.size() && readings_[number].flushed;
  }

  /// Waits for such a copy. Returns false if a store has failed since it began.
  bool has_loaded(const StoreCopies& copies);

  const HostTierConfig& config() const { return config_; }
  /// Returns the pages that copies to this tier fill, for the audit.
  std::array<std::vector<Page>, kMaxGroups> moving() const;

 private:
  struct Copy {
    NamespaceId space{};
    std::int32_t priority = 0;
    bool unwanted = false;               ///< its namespace was flushed since, or a store failed
    std::vector<std::uint32_t> words{};  ///< words of the whole path
    Units from = 0;                      ///< depth at which its pages begin
    std::array<std::vector<Page>, kMaxGroups> pages{};
    Lock lock{};  ///< keeps what this tier had of the path until the copy ends
    std::uint64_t ends_us = 0;
    StoreCopies copies{};
    std::uint64_t bytes = 0, lane_bytes = 0;
  };

  /// The locks of begin_reading() in a namespace.
  struct Readings {
    std::uint32_t locks = 0;
    bool flushed = false;  ///< the namespace was flushed since they began
  };

  void copy(const Key& key, const GroupPages& from, std::int32_t priority) noexcept;
  std::size_t begin(Copy& copy, const Key& key, const GroupPages& from, std::size_t count);
  std::size_t make_room(NamespaceId space, const GroupPages& from, std::size_t first, std::size_t count);
  bool take_pages(Copy& copy, const GroupPages& from, std::size_t count);
  bool save(Copy& copy, const GroupPages& from);
  void arrive(Copy& copy);
  void free(const Copy& copy, std::size_t first_page);
  Units units_of(std::span<const std::uint32_t> words) const {
    return static_cast<Units>(words.size()) - state_.overlap;
  }
  StorePort& store(std::size_t group) { return *device_.pools[group].store_port(); }
  std::uint64_t failures() const;
  void end_others(const StoreCopies& copies);
  template <class Ended>
  bool wait(const StoreCopies& copies, Ended&& ended);

  CacheState& device_;
  HostTierConfig config_;
  CacheState state_;
  PageFlow pages_{state_};
  std::vector<HostPages> images_;  ///< one per group
  Departures departures_;
  Lane store_lane_, load_lane_;
  std::list<Copy> copies_;          ///< pending copies, in the order in which they began and end
  std::vector<Readings> readings_;  ///< by namespace
  std::vector<Page> scratch_, reads_from_;
  std::vector<std::byte*> targets_;
  std::vector<const std::byte*> sources_;
  std::uint64_t begun_ = 0, now_us_ = 0;
};

}  // namespace canopy
