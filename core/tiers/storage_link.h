#pragma once

#include <canopy/engine/engine_config.h>

#include <memory>
#include <vector>

#include <cache/cache_state.h>
#include "breaker.h"
#include "host_tier.h"
#include "page_keys.h"
#include "page_record.h"
#include "storage_calls.h"

namespace canopy {

/// Shared by the reader and the writer of a storage: its calls, the keys of its records, its breaker and the time.
class StorageLink {
 public:
  /// A group's storage, and the fingerprint of its records.
  struct Place {
    std::unique_ptr<StoragePort> storage;
    Fingerprint fingerprint{};
  };
  struct Plan {
    StorageTierConfig config;
    bool puts = true;      ///< if false, another rank puts the same records
    Fingerprint shared{};  ///< fingerprint of all groups
  };
  /// REQUIRES: a place for each group. `device`, the state of the pools, and `host` outlive this object.
  StorageLink(CacheState& device, HostTier& host, const Plan& plan, std::vector<Place> places);
  StorageLink(const StorageLink&) = delete;

  CacheState& device;
  HostTier& host;
  CacheState& state;  ///< state of the host tier
  StorageTierConfig config;
  StorageCalls calls;
  PageKeys keys;
  Breaker breaker;
  std::uint64_t now_us = 0, jobs = 0;

  std::size_t groups() const { return calls.groups(); }
  bool is_whole_path(std::size_t group) const { return state.groups[group].reach == kWholePath; }
  /// Returns true if every group needs the whole path.
  bool whole_paths_only() const { return whole_paths_only_; }
  /// Returns the key under which all records of a namespace lie.
  const PageKey& space_key(NamespaceId space);
  /// Returns the facts of a page on the path that `keys` follow.
  RecordFacts facts_of(std::size_t page, std::size_t group, std::span<const std::uint32_t> words) const;
  /// Returns the bytes of a group's record, with its header.
  std::uint64_t record_bytes(std::size_t group) const { return host.images(group).record_bytes(); }
  /// Returns the bytes of records in a simulated lane.
  std::uint64_t lane_bytes(std::size_t group, std::size_t records) const;
  /// Returns the depth in units at which a page of a path begins.
  Units depth(std::size_t page) const { return static_cast<Units>(page) * state.page_size; }
  /// Reports the end of a call to the breaker.
  void account(const CallEnd& end);
  /// Reports calls that exceeded their time to the breaker.
  void account_late(std::size_t calls_late);

 private:
  bool whole_paths_only_;
  std::vector<Fingerprint> prints_;  ///< one per group
  std::vector<PageKey> space_keys_;  ///< one per namespace
};

}  // namespace canopy
