#pragma once

#include <canopy/engine/engine_config.h>
#include <canopy/engine/ledger.h>
#include <canopy/page_storage.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <cache/cache_state.h>
#include <cache/guard/ports.h>
#include "host_tier.h"
#include "page_record.h"
#include "ranks.h"

namespace canopy {

/// Circuit breaker: stops calling a storage that keeps failing. Time is that of Engine::turn.
///
///   closed     all calls are made. Opens after five failures in a row, or in half of the last 32 calls
///   open       no calls are made for a while: 100 ms, doubled each time, up to 1.5 s
///   half open  one read or put at a time is made. Three successes close it, and one failure opens it again
///
/// Damaged records are counted separately: three within a thousand checked ones open it for `distrust_us`.
class Breaker {
 public:
  enum class State : std::uint8_t { closed, half_open, open };

  /// `distrust_us`: microseconds for which damaged records open it.
  explicit Breaker(std::uint64_t distrust_us) : distrust_us_(distrust_us) {}

  /// Returns true if a call may be made now. Report the end of each call with served() or failed().
  bool may_call(std::uint64_t now) const {
    return state(now) == State::closed || (state(now) == State::half_open && on_way_ == 0);
  }
  State state(std::uint64_t now) const {
    if (!open_) return State::closed;
    return now >= until_ && until_ != kForEver ? State::half_open : State::open;
  }
  /// Returns the time at which an open breaker becomes half open; kUnlimited: never.
  std::uint64_t until() const { return until_; }
  /// Returns the number of times that it opened.
  std::uint64_t opened() const { return opened_; }

  void called() { ++on_way_; }
  void served(std::uint64_t now) {
    ended(false);
    if (state(now) != State::half_open || ++good_ < kGood) return;
    open_ = false;
    wait_ = kFirstWait;
    recent_ = 0;
  }
  void failed(std::uint64_t now) {
    ended(true);
    const State was = state(now);
    const bool many = in_a_row_ >= kInARow || __builtin_popcount(recent_) >= kOfRecent;
    if (was == State::half_open || (was == State::closed && many)) open(now, wait_);
  }
  /// Reports that `damaged` of `records` checked records were damaged.
  void checked(std::uint64_t now, std::uint32_t records, std::uint32_t damaged) {
    for (; damaged > 0; --damaged) {
      std::rotate(damaged_at_.begin(), damaged_at_.begin() + 1, damaged_at_.end());
      damaged_at_.back() = checked_ + 1;
      if (damaged_at_.front() > 0 && checked_ + 1 - damaged_at_.front() < kWithin) {
        damaged_at_ = {};
        open(now, distrust_us_);
      }
    }
    checked_ += records;
  }
  void open_for_ever() { open(0, kForEver); }

 private:
  static constexpr std::uint32_t kInARow = 5, kGood = 3;
  static constexpr int kOfRecent = 16;
  static constexpr std::uint64_t kFirstWait = 100'000, kLongestWait = 1'500'000, kWithin = 1000;
  static constexpr std::uint64_t kForEver = ~std::uint64_t{0};

  void ended(bool badly) {
    on_way_ -= on_way_ > 0;
    in_a_row_ = badly ? in_a_row_ + 1 : 0;
    recent_ = recent_ << 1 | static_cast<std::uint32_t>(badly);
  }
  void open(std::uint64_t now, std::uint64_t how_long) {
    // A longer opening remains in force.
    const std::uint64_t until = how_long == kForEver || how_long > kForEver - now ? kForEver : now + how_long;
    until_ = open_ ? std::max(until_, until) : until;
    opened_ += !open_;
    open_ = true;
    good_ = 0;
    wait_ = std::min(wait_ * 2, kLongestWait);
  }

  std::uint64_t distrust_us_;
  bool open_ = false;
  std::uint64_t until_ = 0, wait_ = kFirstWait, opened_ = 0;
  std::uint32_t on_way_ = 0, in_a_row_ = 0, good_ = 0;
  std::uint32_t recent_ = 0;  ///< one bit for each of the last 32 calls; set: it failed
  std::uint64_t checked_ = 0;
  std::array<std::uint64_t, 3> damaged_at_{};  ///< checked records at the last three damaged ones; 0: fewer
};

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
  bool simulated() const { return lane_.bytes_per_s > 0; }
  bool idle() const { return calls_.empty(); }
  /// Returns the microseconds that gets of `bytes` bytes in `calls` calls would take if they began now. Simulated time
  /// only.
  std::uint64_t get_us(std::uint64_t bytes, std::uint64_t calls, std::uint64_t now_us) const {
    return get_lane_.ends_us(now_us, bytes) - now_us + (calls - std::min<std::uint64_t>(calls, 1)) * lane_.latency_us;
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
