#pragma once

#include <cache/guard/sentence.h>
#include <cache/pages/tier_listener.h>
#include "storage_reader.h"
#include "storage_writer.h"

namespace canopy {

/// A storage of page records below the host tier. It has no index: records are looked up by keys. One part reads
/// records into the host tier, another one writes its pages as records. Both make their calls through one StorageLink.
///
/// Results become visible only in turn(). Pages of a late call stay `moving` until the storage has ended it, whatever
/// happened to its request.
class StorageTier final : public TierListener {
 public:
  using Place = StorageLink::Place;
  using Plan = StorageLink::Plan;
  /// `feed`: that of the host tier's index. May be null (no feed). REQUIRES: a place for each group. `device`, `host`
  /// and `costs` outlive this object.
  StorageTier(CacheState& device, HostTier& host, const CostModel& costs, const Plan& plan, std::vector<Place> places,
              FeedWriter* feed)
      : link_(device, host, plan, std::move(places)), reader_(link_, costs, feed), writer_(link_, plan.puts) {}

  StorageReader& reader() { return reader_; }

  /// Processes the calls that have ended by now. `agreed`: the ends on which all ranks agree. May be null (a single
  /// rank).
  void turn(std::uint64_t now_us, const TurnBoard* agreed = nullptr);
  /// Writes the results of calls that have ended here to the board.
  void offer(TurnBoard& board, std::uint64_t now_us);
  /// Stops issuing storage calls and discards the results of pending ones. Their pages stay `moving` until they end.
  void stop();
  /// Returns a number that differs between ranks that have made different calls.
  std::uint64_t calls_made() const { return link_.calls.made(); }
  /// Evicts from the host tier until a part of it is free or being written to the storage. Call it at the end of each
  /// turn: pages that have just arrived in the host tier are then locked if a fetch continues from them.
  void evict_early() { writer_.evict_early(); }
  /// Returns the time at which the next call ends, as Tiers::next_end_us.
  std::uint64_t next_us() const;
  /// Returns true while storage calls run in real time.
  bool in_real_time() const { return !link_.calls.simulated() && !link_.calls.idle(); }

  /// Computes the keys of so many namespaces, so that a flush needs no memory.
  void intern(std::size_t spaces) { link_.space_key(static_cast<NamespaceId>(spaces - 1)); }

  // Called by the host tier:
  LeavingVisitor* eviction_visitor() override { return writer_.eviction_visitor(); }
  void evicted() noexcept override { writer_.evicted(); }
  void inserted(const Key& key, const Lock&, std::int32_t) noexcept override { writer_.inserted(key); }
  void flushed(NamespaceId space) noexcept override;

  /// Returns the host tier's pages that calls read or fill, for the audit.
  void add_moving(std::array<std::vector<Page>, kMaxGroups>& pages) const;
  /// Returns the component's name, and how often the storages had no memory, as StorageUse::lacked.
  const std::string& name() const { return link_.calls.storage(0).name(); }
  std::uint64_t lacked() const;
  /// Updates the storage's gauges for readers.
  void show();

 private:
  Sentence noted_name(NamespaceId space) const noexcept;
  CallEnd end_of(const StorageCall& call);
  void ended(const StorageCall& call, const CallEnd& end);
  void end_calls();
  void abandon_the_storage();
  void show_breaker();

  StorageLink link_;
  StorageReader reader_;
  StorageWriter writer_;
};

}  // namespace canopy
