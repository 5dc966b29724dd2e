#pragma once

#include <canopy/engine/engine_config.h>
#include <canopy/engine/ledger.h>
#include <canopy/engine/storage_board.h>
#include <canopy/page_storage.h>

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "guard/storage_guard.h"
#include "tiers/call_end.h"
#include "tiers/lane.h"
#include "tiers/turn_board.h"

namespace canopy {

/// A call of a storage, from its beginning until its end has been seen.
struct StorageCall {
  using Kind = StorageLane;
  Kind kind{};
  std::size_t group = 0;
  std::uint64_t ticket = 0;
  std::uint64_t job = 0;  ///< the caller's number for what it belongs to
  std::size_t first = 0;  ///< get, put: its first record among those of the job
  std::uint32_t records = 0;
  std::uint64_t ends_us = 0;  ///< simulated: when it ends
  std::uint64_t began_us = 0, bytes = 0;
  bool ended = false;        ///< the storage has told so
  bool lost = false;         ///< it never will: what it was given is the storage's for ever
  Fate fate = Fate::failed;  ///< as StorageDone tells it
  std::uint32_t found = 0;
  std::vector<Fate> fates;
  std::optional<CallEnd> end;  ///< what it came to here, once that has been looked at
};

/// The calls of the storages of all groups. It hands them on, and tells their ends in an order that does not depend on
/// when the storages tell theirs: in that of the simulated ends, or, in real time, in that of the calls.
class StorageCalls {
 public:
  /// `board`: what the feed shows of the calls. `puts`: false: another rank puts the same records into the same
  /// storage. A put here is no call of the storage, and has ended at once.
  StorageCalls(std::vector<std::unique_ptr<StorageGuard>> storages, LaneConfig lane, Ledger& ledger,
               StorageBoard& board, bool puts);

  std::size_t groups() const { return storages_.size(); }
  StorageGuard& storage(std::size_t group) { return *storages_[group]; }
  const StorageGuard& storage(std::size_t group) const { return *storages_[group]; }
  /// Without a bandwidth a call ends when its storage says so.
  bool simulated() const { return lane_.bandwidth > 0; }
  bool idle() const { return calls_.empty(); }
  /// Simulated: how long gets of so many bytes in so many calls would take if they began now.
  std::uint64_t get_us(std::uint64_t bytes, std::uint64_t calls, std::uint64_t now_us) const {
    return get_lane_.ends_us(now_us, bytes) - now_us + (calls - std::min<std::uint64_t>(calls, 1)) * lane_.latency;
  }

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
  /// The calls that are on their way never end, whatever the storage tells of them: next() tells them as lost.
  void abandon();

  // With ranks, instead of next():
  /// Puts on the board how calls ended: `end_of(call)`, asked once for each. In simulated time this waits for the
  /// storages.
  template <class EndOf>
  void offer(TurnBoard& board, std::uint64_t now_us, EndOf&& end_of) {
    take_in(now_us);
    each_on_board([&](std::unique_ptr<StorageCall>& call, std::size_t lane, std::size_t slot) {
      if (!call->ended || (simulated() && call->ends_us > now_us)) return;
      if (!call->end) call->end = end_of(*call);
      board.offer(lane, slot, *call->end);
    });
  }
  /// The calls that have ended on every rank, with the end that was agreed. They are on their way no more.
  std::vector<std::unique_ptr<StorageCall>> take(const TurnBoard& board);
  /// Calls that were ever made.
  std::uint64_t made() const { return tickets_; }

  /// When the next simulated call ends; kUnlimited: none is on its way, or time is real.
  std::uint64_t next_us() const;

 private:
  std::uint64_t begin(StorageCall::Kind kind, std::size_t group, std::uint64_t job, std::size_t first,
                      std::size_t records, Lane& lane, std::uint64_t now_us, std::uint64_t bytes);
  void poll();
  void wait_for(StorageCall& call);
  void take_in(std::uint64_t now_us);
  /// The calls that have a slot: the first few of each kind, in an order that is the same on all ranks.
  template <class Each>
  void each_on_board(Each&& each) {
    std::array<std::size_t, Agreement::kLanes> next{};
    for (auto& call : calls_) {
      const auto lane = static_cast<std::size_t>(call->kind);
      if (next[lane] < Agreement::kSlots) each(call, lane, next[lane]++);
    }
  }
  /// Whether this rank's storage is called for it.
  bool is_call(StorageCall::Kind kind) const { return puts_ || kind != StorageCall::Kind::put; }
  void show_end(const StorageCall& call, std::uint64_t now_us);

  std::vector<std::unique_ptr<StorageGuard>> storages_;  ///< by group
  LaneConfig lane_;
  Lane find_lane_, get_lane_, put_lane_;
  Ledger& ledger_;
  StorageBoard& board_;
  std::uint64_t tickets_ = 0;
  bool puts_;
  bool gone_ = false;                               ///< a storage did not end a call
  std::deque<std::unique_ptr<StorageCall>> calls_;  ///< in the order in which they end, or began
};

}  // namespace canopy
