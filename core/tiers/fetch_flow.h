#pragma once

#include <canopy/engine/fetch.h>
#include <canopy/engine/request_spec.h>

#include <deque>
#include <memory>

#include <cache/request/request_flow.h>
#include "host_tier.h"
#include "prefetch.h"
#include "storage_tier.h"

namespace canopy {

class FetchFlow;

/// A fetch, shared by its handles and FetchFlow.
struct FetchState {
  enum class Stage : std::uint8_t {
    reading,  ///< `read` brings the prefix from the storage to the host tier
    copying,  ///< `request` has pages in the pools, and a copy from the host tier fills them
    arrived,  ///< the pages are the index's, and `request` locks them for the handles
    ended     ///< it holds nothing
  };
  Stage stage = Stage::ended;
  FetchFlow* flow = nullptr;          ///< valid until the stage is `ended`
  std::shared_ptr<StorageRead> read;  ///< may be null (the storage was not called)
  std::vector<Token> prompt;          ///< used while it waits for `read`
  RequestSpec spec{};                 ///< request parameters; `spec.prompt` points into `prompt`
  RequestState* request = nullptr;    ///< a request that computes nothing; null before `copying`
  Lock source{};                      ///< lock on the prefix in the host tier, until the copy has ended
  Units from = 0, until = 0;          ///< units that it brings
  std::uint64_t ends_us = 0, bytes = 0;
  HostTier::StoreCopies copies{};
  std::uint32_t handles = 0;
  std::uint64_t called_us = 0;
  bool begun = false;     ///< a request started from this fetch, possibly before it completed
  bool credited = false;  ///< a request started from it after it completed

  bool done() const { return stage >= Stage::arrived; }
};

/// Brings prefixes from the tiers below into the pools: from the storage to the host tier, and then to the pools.
class FetchFlow {
 public:
  /// `storage` may be null (none). REQUIRES: `costs` outlives this object.
  FetchFlow(RequestFlow& requests, PageFlow& pages, HostTier& tier, StorageTier* storage,
            const PrefetchConfig& prefetch, const CostModel& costs)
      : requests_(requests),
        pages_(pages),
        device_(pages.state()),
        tier_(tier),
        storage_(storage),
        prefetch_(prefetch, costs) {}
  ~FetchFlow();
  FetchFlow(const FetchFlow&) = delete;

  /// Looks up a request's prefix below, which makes it recent there, and begins to bring what the pools lack. Returns
  /// null if there is nothing to bring.
  std::shared_ptr<FetchState> fetch(const RequestSpec& spec);
  /// Makes a request's prefix recent below, if the request begins without a fetch.
  void touch(const RequestSpec& spec);
  /// Counts that a request has begun on the fetch and found `matched` units. `took_us`: microseconds from its call to
  /// the end of the fetch, or until now if the fetch has not ended.
  void credit(FetchState& fetch, Units matched, std::uint64_t took_us);
  /// Stops all fetches except copies to the pools that are pending.
  void stop() { stopped_ = true; }
  /// Commits fetches whose copies have ended by the tier's time.
  void turn();
  /// Returns the time at which the next copy ends, or now if a fetch has read all that it needs; kUnlimited if neither
  /// is pending.
  std::uint64_t next_us() const;
  /// Returns the time at which the next step of an unfinished fetch ends.
  std::uint64_t ends_us(const FetchState& fetch) const;
  /// Returns the time at which a request should begin, even if the fetch is not complete. The request called at
  /// `called_us` and can use `usable` units of its prompt. `again_us`: microseconds until its next call at the earliest.
  std::uint64_t begins_us(const FetchState& fetch, Units usable, std::uint64_t called_us, std::uint64_t again_us) const;
  std::uint64_t now_us() const { return tier_.now_us(); }
  /// Ends a fetch whose last handle was destroyed. A copy that is pending runs to its end first.
  void drop(FetchState& fetch);
  /// Does the same in the next turn, since a call of the engine runs now.
  void drop_later() { dropped_ = true; }
  CacheState& state() { return device_; }

 private:
  Lock look_up(const Key& key, RequestFacts& facts);
  std::shared_ptr<FetchState> copying(const RequestSpec& spec, Units units) const;
  std::shared_ptr<FetchState> waits_for_storage(const RequestSpec& spec, const Key& key) const;
  std::shared_ptr<FetchState> wait_for(std::shared_ptr<StorageRead> read, const RequestSpec& spec, Units here);
  std::shared_ptr<FetchState> load(const RequestSpec& spec, const Key& key, Units here, Units there,
                                   std::shared_ptr<FetchState> waiting);
  bool begin(const std::shared_ptr<FetchState>& fetch, const RequestSpec& spec, const Key& key, Units there) noexcept;
  bool begin_copy(FetchState& fetch, const RequestSpec& spec, const Key& key, Units there);
  bool worth(Units from, Units until) const;
  bool abandoned(const FetchState& fetch) const;
  std::uint64_t seen_us(std::uint64_t ends_us, std::uint64_t again_us) const;
  void continue_after_reads();
  void continue_after_read(std::shared_ptr<FetchState> fetch) noexcept;
  void arrive(const std::shared_ptr<FetchState>& fetch) noexcept;
  void end(FetchState& fetch);

  RequestFlow& requests_;
  PageFlow& pages_;
  CacheState& device_;
  HostTier& tier_;
  StorageTier* storage_;
  Prefetch prefetch_;
  std::vector<std::shared_ptr<FetchState>> reading_;  ///< in the order of their calls
  std::deque<std::shared_ptr<FetchState>> copying_;   ///< in the order in which they began and end
  std::vector<std::shared_ptr<FetchState>> arrived_;  ///< in no order
  std::array<std::vector<Page>, kMaxGroups> from_, to_;
  bool stopped_ = false;
  bool dropped_ = false;  ///< a handle was destroyed while a call of the engine ran
};

}  // namespace canopy
