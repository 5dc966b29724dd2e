#pragma once

#include <canopy/engine/engine_config.h>
#include <canopy/engine/ledger.h>
#include <canopy/engine/storage_board.h>
#include <canopy/page_storage.h>

#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "guard/storage_guard.h"
#include "tiers/lane.h"

namespace canopy {

/// A call of a storage, from its beginning until its end has been seen.
struct StorageCall {
  using Kind = StorageLane;
  Kind kind{};
  std::size_t group = 0;
  std::uint64_t ticket = 0;
  std::uint64_t job = 0;      ///< the caller's number for what it belongs to
  std::size_t first = 0;      ///< get, put: its first record among those of the job
  std::uint64_t ends_us = 0;  ///< simulated: when it ends
  std::uint64_t began_us = 0, bytes = 0;
  bool ended = false;        ///< the storage has told so
  bool lost = false;         ///< it never will: what it was given is the storage's for ever
  Fate fate = Fate::failed;  ///< as StorageDone tells it
  std::uint32_t found = 0;
  std::vector<Fate> fates;
};

/// The calls of the storages of all groups. It hands them on, and tells their ends in an order that does not depend on
/// when the storages tell theirs: in that of the simulated ends, or, in real time, in that of the calls.
class StorageCalls {
 public:
  StorageCalls(std::vector<std::unique_ptr<StorageGuard>> storages, LaneConfig lane, Ledger& ledger,
               StorageBoard& board);

  std::size_t groups() const { return storages_.size(); }
  StorageGuard& storage(std::size_t group) { return *storages_[group]; }
  /// Without a bandwidth a call ends when its storage says so.
  bool simulated() const { return lane_.bandwidth > 0; }
  bool idle() const { return calls_.empty(); }

  /// Each of them: when the call ends; `now_us` in real time.
  std::uint64_t find(std::size_t group, std::uint64_t job, const PageKey& space, std::span<const PageKey> keys,
                     std::uint64_t within_us, std::uint64_t now_us);
  std::uint64_t get(std::size_t group, std::uint64_t job, std::size_t first, const PageKey& space,
                    std::span<const PageKey> keys, std::span<std::byte* const> records, std::uint64_t bytes,
                    std::uint64_t within_us, std::uint64_t now_us);
  std::uint64_t put(std::size_t group, std::uint64_t job, std::size_t first, const PageKey& space,
                    std::span<const PageKey> keys, std::span<const std::byte* const> records, std::uint64_t bytes,
                    std::uint64_t within_us, std::uint32_t keep_s, std::uint64_t now_us);

  /// The next call that has ended by now, and is on its way no more; null: there is none. In simulated time this waits
  /// for the storage.
  std::unique_ptr<StorageCall> next(std::uint64_t now_us);
  /// The calls that are on their way never end: next() tells them as lost.
  void abandon();
  /// When the next simulated call ends; kUnlimited: none is on its way, or time is real.
  std::uint64_t next_us() const;

 private:
  std::uint64_t begin(StorageCall::Kind kind, std::size_t group, std::uint64_t job, std::size_t first, Lane& lane,
                      std::uint64_t now_us, std::uint64_t bytes);
  void poll();
  void wait_for(StorageCall& call);
  void show_end(const StorageCall& call, std::uint64_t now_us);

  std::vector<std::unique_ptr<StorageGuard>> storages_;  ///< by group
  LaneConfig lane_;
  Lane find_lane_, get_lane_, put_lane_;
  Ledger& ledger_;
  StorageBoard& board_;
  std::uint64_t tickets_ = 0;
  bool gone_ = false;                               ///< a storage did not end a call
  std::deque<std::unique_ptr<StorageCall>> calls_;  ///< in the order in which they end, or began
};

}  // namespace canopy
