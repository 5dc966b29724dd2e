#pragma once

#include <canopy/engine/engine_config.h>
#include <canopy/engine/state.h>
#include <canopy/feed/writer.h>

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "pages/below.h"
#include "tiers/breaker.h"
#include "tiers/bring.h"
#include "tiers/cost_model.h"
#include "tiers/departures.h"
#include "tiers/host_tier.h"
#include "tiers/page_keys.h"
#include "tiers/page_record.h"
#include "tiers/put_budget.h"
#include "tiers/storage_calls.h"

namespace canopy {

/// Records of pages in a storage below the host tier. It has no index: what is there is asked for by keys.
///
///   put     at a turn the host tier evicts early, until a part of it is free. What is evicted is put, whole runs and
///           the root's side first. Its pages are `moving` until the storage has ended the call.
///           Or, written through, what a copy has brought to the host tier is put, and a lock keeps it there meanwhile
///   bring   the storage is asked what it has of a path beyond the host tier. Pages are taken there for it, and are
///           `moving` while the storage fills them. Each record is checked; those from the first on that are right are
///           inserted into the host tier's index, and the others are freed
///
/// What has ended becomes visible in turn() alone. Pages whose call is late stay `moving` until the storage has ended
/// it, whatever became of its request.
class StorageTier final : public Below {
 public:
  /// What the records of a group are put into, and mean.
  struct Place {
    std::unique_ptr<StorageGuard> storage;
    Fingerprint fingerprint{};
  };
  struct Plan {
    StorageTierConfig config;
    std::uint32_t share = 100;  ///< percent of the host tier that may be on its way from here
    bool puts = true;           ///< false: another rank puts what this one would
    Fingerprint shared{};       ///< of all groups
  };
  /// REQUIRES: a place for each group. `device`, `host` and `costs` outlive it. `feed`: of the host tier's index; null:
  /// there is none.
  StorageTier(EngineState& device, HostTier& host, const CostModel& costs, const Plan& plan, std::vector<Place> places,
              FeedWriter* feed);
  ~StorageTier();

  /// Begins to bring what the storage has of a path beyond its first `wanted` units, of which the host tier has
  /// `there`. Null: nothing comes, and the outcome is counted.
  std::shared_ptr<Bring> bring(const Key& key, Units there, Units wanted, std::int32_t priority);

  /// When a bring that is not over will be, or while it asks, when there is an answer: by what its lane has to do, or
  /// by what was seen; nothing: that is not known.
  std::optional<std::uint64_t> ends_us(const Bring& bring) const;

  /// What has ended by now becomes visible. `agreed`: what has ended on every rank; null: there is one rank.
  void turn(std::uint64_t now_us, const TurnBoard* agreed = nullptr);
  /// Puts on the board what has ended here.
  void offer(TurnBoard& board, std::uint64_t now_us);
  /// Calls the storage no more, and nothing comes of what is on its way. Pages that calls have stay `moving` until they
  /// end.
  void stop();
  /// Differs between ranks that have made other calls.
  std::uint64_t calls_made() const { return calls_.made(); }
  /// Evicts from the host tier until a part of it is free or on its way to the storage. Each turn ends with it: what
  /// has come to the host tier is locked by then if a fetch goes on from it.
  void evict_early();
  /// When the next call ends, as for Engine::next_end_us.
  std::uint64_t next_us() const;
  /// Calls are on their way whose end the storage alone knows.
  bool in_real_time() const { return !calls_.simulated() && !calls_.idle(); }

  // Of the host tier:
  LeavingVisitor* leaving() override { return config_.write == PutPolicy::none ? nullptr : &dropped_; }
  void left() override;
  void inserted(const Key& key, const Lock& lock, std::int32_t priority) override;
  HotPath* watches() override { return nullptr; }
  void ended(const Key&, std::int32_t) override {}
  void flushed(NamespaceId space) override;

  /// Pages of the host tier that calls read or fill, for the audit.
  void add_moving(std::array<std::vector<Page>, kMaxGroups>& pages) const;
  const Breaker& breaker() const { return breaker_; }
  /// Brings EngineState::board up to date, as a reader is to see it.
  void show();

 private:
  /// A run of a path on its way to the storage.
  struct Put {
    std::uint64_t job = 0;
    NamespaceId space{};
    Lock lock{};            ///< written through: keeps the pages in the host tier's index; else they have left it
    bool unwanted = false;  ///< its namespace was flushed since
    std::array<std::vector<Page>, kMaxGroups> pages{};
    std::uint64_t bytes = 0, late_us = 0;
    std::size_t open = 0;  ///< calls
    bool late = false, lost = false;
    bool refused = false;  ///< the storage has not kept all of it
  };
  /// Counts what is evicted for room, and not put.
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
    std::span<const std::uint32_t> words;  ///< of the path
    GroupPages pages;                      ///< of the path
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
  EngineState& state_;  ///< of the host tier
  StorageTierConfig config_;
  const CostModel& costs_;
  std::uint32_t share_;
  bool puts_here_;
  SeenRate seen_;          ///< of records
  SeenRate seen_answers_;  ///< of finds, each as one byte
  FeedWriter* feed_;
  StorageCalls calls_;
  PageKeys keys_;
  std::vector<Fingerprint> prints_;  ///< by group
  std::vector<PageKey> space_keys_;  ///< by namespace
  Breaker breaker_;
  PutBudget budget_;
  Departures departures_;
  Dropped dropped_{*this};
  std::deque<std::shared_ptr<Bring>> brings_;
  std::deque<std::unique_ptr<Put>> puts_;
  std::uint64_t now_us_ = 0, jobs_ = 0, bytes_put_ = 0;  ///< bytes_put_: on their way
  std::array<std::uint64_t, kMaxGroups> putting_{};      ///< pages on their way
  std::array<std::vector<bool>, kMaxGroups> is_put_{};   ///< by page, of the eviction that runs
  std::vector<Page> scratch_;
  std::vector<PageKey> key_scratch_;
  std::vector<std::byte*> targets_;
  std::vector<const std::byte*> sources_;
};

}  // namespace canopy
