#pragma once

#include <canopy/engine/engine_config.h>
#include <canopy/feed/writer.h>

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include <engine/engine_state.h>
#include <engine/pages/below.h>
#include "breaker.h"
#include "bring.h"
#include "cost_model.h"
#include "departures.h"
#include "host_tier.h"
#include "page_keys.h"
#include "page_record.h"
#include "storage_calls.h"

namespace canopy {

/// A storage of page records below the host tier. It has no index: records are looked up by keys.
///
///   put     each turn evicts from the host tier until a part of it is free, and writes what was evicted: whole runs,
///           nearest to the root first. The pages are `moving` until the storage has ended the call.
///           With write-through, pages that a copy has brought to the host tier are written, and a lock keeps them
///           there
///   bring   the storage looks up the part of a path beyond the host tier. Pages are taken there for it, and are
///           `moving` while the storage fills them. Each record is checked. The valid ones, from the first on, are
///           inserted into the host tier's index, and the others are freed
///
/// Results become visible only in turn(). Pages of a late call stay `moving` until the storage has ended it, whatever
/// happened to its request.
class StorageTier final : public Below {
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
  /// `feed`: that of the host tier's index. May be null (no feed). REQUIRES: a place for each group. `device`, `host`
  /// and `costs` outlive this object.
  StorageTier(EngineState& device, HostTier& host, const CostModel& costs, const Plan& plan, std::vector<Place> places,
              FeedWriter* feed);
  ~StorageTier();

  /// Begins to bring the part of a path that the storage has beyond its first `wanted` units. The host tier has `there`
  /// units. Returns null, and counts the outcome, if there is nothing to bring.
  std::shared_ptr<Bring> bring(const Key& key, Units there, Units wanted, std::int32_t priority);

  /// Returns the time at which an unfinished bring ends or, during its lookup, the time of the answer: from the work of
  /// its lane or from measured times. Empty if unknown.
  std::optional<std::uint64_t> ends_us(const Bring& bring) const;

  /// Processes the calls that have ended by now. `agreed`: the ends on which all ranks agree. May be null (a single
  /// rank).
  void turn(std::uint64_t now_us, const TurnBoard* agreed = nullptr);
  /// Writes the results of calls that have ended here to the board.
  void offer(TurnBoard& board, std::uint64_t now_us);
  /// Stops issuing storage calls and discards the results of pending ones. Their pages stay `moving` until they end.
  void stop();
  /// Returns a number that differs between ranks that have made different calls.
  std::uint64_t calls_made() const { return calls_.made(); }
  /// Evicts from the host tier until a part of it is free or being written to the storage. Call it at the end of each
  /// turn: pages that have just arrived in the host tier are then locked if a fetch continues from them.
  void evict_early();
  /// Returns the time at which the next call ends, as Engine::next_end_us.
  std::uint64_t next_us() const;
  /// Returns true while storage calls run in real time.
  bool in_real_time() const { return !calls_.simulated() && !calls_.idle(); }

  // Called by the host tier:
  LeavingVisitor* leaving() override { return config_.write == PutPolicy::none ? nullptr : &dropped_; }
  void left() override;
  void inserted(const Key& key, const Lock& lock, std::int32_t priority) override;
  void flushed(NamespaceId space) override;

  /// Returns the host tier's pages that calls read or fill, for the audit.
  void add_moving(std::array<std::vector<Page>, kMaxGroups>& pages) const;
  const Breaker& breaker() const { return breaker_; }
  /// Updates EngineState::board for readers.
  void show();

 private:
  /// A run of a path that is being written to the storage.
  struct Put {
    std::uint64_t job = 0;
    NamespaceId space{};
    Lock lock{};            ///< write-through: keeps the pages in the host tier's index; otherwise they have left it
    bool unwanted = false;  ///< its namespace was flushed since
    std::array<std::vector<Page>, kMaxGroups> pages{};
    std::uint64_t bytes = 0, late_us = 0;
    std::size_t open = 0;  ///< pending calls
    bool late = false, lost = false;
    bool refused = false;  ///< the storage has not kept all of it
  };
  /// Counts the tokens that are evicted for room and not put.
  struct Dropped final : LeavingVisitor {
    explicit Dropped(const StorageTier& tier) : tier_(tier) {}
    std::uint64_t tokens = 0;
    void leaving(const Leaving& node) override;

   private:
    const StorageTier& tier_;
  };
  /// Pages [first, end) of a path, to be put.
  struct Run {
    NamespaceId space{};
    std::span<const std::uint32_t> words;  ///< words of the path
    GroupPages pages;                      ///< pages of the path
    std::size_t first = 0, end = 0;
  };

  const PageKey& space_key(NamespaceId space);
  RecordFacts facts_of(std::size_t page, std::size_t group, std::span<const std::uint32_t> words);
  CallEnd end_of(const StorageCall& call);
  void ended(const StorageCall& call, const CallEnd& end);
  void account(const CallEnd& end);
  void end_calls();
  void arrive_late();
  void give_up_what_is_late();
  void give_up_the_storage();

  // storage_bring.cpp
  CallEnd check(Bring& bring, const StorageCall& call);
  void found(Bring& bring, const CallEnd& end);
  bool worth(std::size_t first, std::size_t pages);
  std::uint64_t get_us(std::size_t pages) const;
  std::uint64_t lane_bytes(std::size_t group, std::size_t records) const;
  void get(Bring& bring);
  std::size_t take_pages(Bring& bring, std::size_t count);
  std::size_t shared_out(std::size_t count) const;
  bool ask_for_records(Bring& bring);
  void got(Bring& bring, const StorageCall& call, const CallEnd& end);
  bool right(Bring& bring, std::size_t group, std::size_t page);
  void arrive(Bring& bring);
  bool stands(Bring& bring);
  std::size_t right_ones(const Bring& bring) const;
  void insert(Bring& bring, std::size_t count);
  void free_pages(Bring& bring, std::size_t first);
  void close(Bring& bring, BringOutcome outcome);

  // storage_show.cpp
  void show_breaker();
  void show_brought(const Bring& bring, NodeId end);

  // storage_put.cpp
  std::uint64_t to_evict(std::size_t group) const;
  std::uint64_t may_put() const;
  bool put(const Run& run, const Lock& lock);
  std::size_t seal(const Run& run, Put& put);
  void send(Put& put, std::size_t group, std::size_t first);
  bool is_stored(const GroupPages& pages, std::size_t page) const;
  void free_the_others(const GroupPages& evicted);
  void put_ended(Put& put, const StorageCall& call, const CallEnd& end);

  EngineState& device_;
  HostTier& host_;
  EngineState& state_;  ///< state of the host tier
  StorageTierConfig config_;
  const CostModel& costs_;
  bool puts_here_;
  SeenRate seen_;          ///< rate of records
  SeenRate seen_answers_;  ///< rate of finds, each counted as one byte
  FeedWriter* feed_;
  StorageCalls calls_;
  PageKeys keys_;
  std::vector<Fingerprint> prints_;  ///< one per group
  std::vector<PageKey> space_keys_;  ///< one per namespace
  Breaker breaker_;
  Departures departures_;
  Dropped dropped_{*this};
  std::deque<std::shared_ptr<Bring>> brings_;
  std::deque<std::unique_ptr<Put>> puts_;
  std::uint64_t now_us_ = 0, jobs_ = 0, bytes_put_ = 0;  ///< bytes_put_: bytes of pending puts
  std::array<std::uint64_t, kMaxGroups> putting_{};      ///< pages of pending puts
  std::array<std::vector<bool>, kMaxGroups> is_put_{};   ///< one per page, for the present eviction
  std::vector<Page> scratch_;
  std::vector<PageKey> key_scratch_;
  std::vector<std::byte*> targets_;
  std::vector<const std::byte*> sources_;
};

}  // namespace canopy
