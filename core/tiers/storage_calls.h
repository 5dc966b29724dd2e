#pragma once

#include <canopy/engine/engine_config.h>
#include <canopy/engine/ledger.h>
#include <canopy/page_storage.h>

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <cache/cache_state.h>
#include <cache/guard/ports.h>
#include "call_end.h"
#include "lane.h"
#include "turn_board.h"

namespace canopy {

/// A storage call, from its start until its end was processed.
struct StorageCall {
  using Kind = StorageLane;
  Kind kind{};
  std::size_t group = 0;
  std::uint64_t ticket = 0;
  std::uint64_t job = 0;  ///< number of the caller's job
  std::size_t first = 0;  ///< get, put: its first record in the job
  std::uint32_t records = 0;
  std::uint64_t ends_us = 0;  ///< simulated: time at which it ends
  std::uint64_t began_us = 0, bytes = 0;
  bool ended = false;        ///< the storage has reported its end
  bool lost = false;         ///< it will never end: the storage may use its memory for ever
  Fate fate = Fate::failed;  ///< result, as in StorageDone
  std::uint32_t found = 0;
  std::vector<Fate> fates;
  std::optional<CallEnd> end;  ///< result on this rank, once computed; the agreed one, if there are several
  bool agreed = false;         ///< all ranks have its end
};

/// Makes the calls to the storages of all groups. Reports their ends in an order that does not depend on the storages'
/// timing: in order of the simulated ends or, in real time, in order of the calls.
class StorageCalls {
 public:
  /// Calls are counted in `device`. If `puts` is false, another rank puts the same records into the same storage: a put
  /// here does not call the storage, and ends at once.
  StorageCalls(std::vector<std::unique_ptr<StoragePort>> storages, LaneConfig lane, CacheState& device, bool puts);

  std::size_t groups() const { return storages_.size(); }
  StoragePort& storage(std::size_t group) { return *storages_[group]; }
  const StoragePort& storage(std::size_t group) const { return *storages_[group]; }
  /// Returns true if ends are simulated, by a bandwidth. Otherwise a call ends when its storage reports it.
  bool simulated() const { return lane_.bandwidth > 0; }
  bool idle() const { return calls_.empty(); }
  /// Returns the microseconds that gets of `bytes` bytes in `calls` calls would take if they began now. Simulated time
  /// only.
  std::uint64_t get_us(std::uint64_t bytes, std::uint64_t calls, std::uint64_t now_us) const {
    return get_lane_.ends_us(now_us, bytes) - now_us + (calls - std::min<std::uint64_t>(calls, 1)) * lane_.latency;
  }

  /// Each returns the expected completion time, or `now_us` for storages that run in real time. If the system has no
  /// memory, throws std::bad_alloc before anything has begun; a call that has begun ends, if need be as failed.
  std::uint64_t find(std::size_t group, std::uint64_t job, const PageKey& space, std::span<const PageKey> keys,
                     std::uint64_t within_us, std::uint64_t now_us);
  std::uint64_t find_each(std::size_t group, std::uint64_t job, const PageKey& space, std::span<const PageKey> keys,
                          std::uint64_t within_us, std::uint64_t now_us);
  std::uint64_t get(std::size_t group, std::uint64_t job, std::size_t first, const PageKey& space,
                    std::span<const PageKey> keys, std::span<std::byte* const> records, std::uint64_t bytes,
                    std::uint64_t within_us, std::uint64_t now_us);
  std::uint64_t put(std::size_t group, std::uint64_t job, std::size_t first, const PageKey& space,
                    std::span<const PageKey> keys, std::span<const std::byte* const> records, std::uint64_t bytes,
                    std::uint64_t within_us, std::uint64_t now_us);

  /// Removes and returns the next call that has ended by now. Returns null if there is none. In simulated time, waits
  /// for the storage.
  std::unique_ptr<StorageCall> next(std::uint64_t now_us);
  /// Abandons all pending calls. next() reports them as lost and ignores later completions.
  void abandon();

  // For several ranks, instead of next():
  /// Writes the results of ended calls to the board. Calls `end_of(call)` once for each. In simulated time, waits for
  /// the storages.
  template <class EndOf>
  void offer(TurnBoard& board, std::uint64_t now_us, EndOf&& end_of) {
    take_in(now_us);
    each_on_board([&](std::unique_ptr<StorageCall>& call, std::size_t lane, std::size_t slot) {
      if (!call->ended || (simulated() && call->ends_us > now_us)) return;
      if (!call->end) call->end = end_of(*call);
      board.offer(lane, slot, *call->end);
    });
  }
  /// Gives the calls that have ended on every rank the agreed results.
  void agree(const TurnBoard& board);
  /// Removes and returns the next of these calls. Returns null if there is none.
  std::unique_ptr<StorageCall> next_agreed();
  /// Returns the number of calls made so far.
  std::uint64_t made() const { return tickets_; }

  /// Returns the time at which the next simulated call ends; kUnlimited if none is pending or time is real.
  std::uint64_t next_us() const;

 private:
  StorageCall& begin(StorageCall::Kind kind, std::size_t group, std::uint64_t job, std::size_t first,
                     std::size_t records, Lane& lane, std::uint64_t now_us, std::uint64_t bytes);
  void lack(StorageCall& call);
  static void end(StorageCall& call, Fate fate);
  void poll();
  void wait_for(StorageCall& call);
  void take_in(std::uint64_t now_us);
  /// Visits the calls that have a slot: the first few of each kind, in an order that is the same on all ranks.
  template <class Each>
  void each_on_board(Each&& each) {
    std::array<std::size_t, Agreement::kLanes> next{};
    for (auto& call : calls_) {
      const auto lane = static_cast<std::size_t>(call->kind);
      if (next[lane] < Agreement::kSlots) each(call, lane, next[lane]++);
    }
  }
  /// Returns true if this rank's storage is called for a call of this kind.
  bool is_call(StorageCall::Kind kind) const { return puts_ || kind != StorageCall::Kind::put; }
  void show_end(const StorageCall& call, std::uint64_t now_us);

  std::vector<std::unique_ptr<StoragePort>> storages_;  ///< one per group
  LaneConfig lane_;
  Lane find_lane_, get_lane_, put_lane_;
  CacheState& device_;
  std::uint64_t tickets_ = 0;
  bool puts_;
  bool gone_ = false;                               ///< a storage did not end a call
  std::deque<std::unique_ptr<StorageCall>> calls_;  ///< pending calls in the order of their ends (simulated) or starts
};

}  // namespace canopy
