#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include <cache/cache_state.h>
#include "digest.h"
#include "tier_listener.h"

namespace canopy {

class Publisher;

/// Adds its lifetime to Counters::index_seconds, and records the time for the feed.
class IndexTimer {
 public:
  explicit IndexTimer(CacheState& state) : state_(state), start_(std::chrono::steady_clock::now()) {}
  ~IndexTimer() {
    const auto end = std::chrono::steady_clock::now();
    state_.counters.index_seconds += std::chrono::duration<double>(end - start_).count();
    state_.elapsed_us =
        static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(end - state_.began).count());
  }
  IndexTimer(const IndexTimer&) = delete;

 private:
  CacheState& state_;
  std::chrono::steady_clock::time_point start_;
};

/// Returns the result of call(), a call of the index, and counts its time.
template <class Call>
auto timed(CacheState& state, Call&& call) {
  const IndexTimer timer(state);
  return call();
}

/// Moves pages between the pools and the index, and ends each operation: checks the ledger, updates the digest and the
/// stop condition, and publishes. It does not know requests.
class PageFlow {
 public:
  /// REQUIRES: `state` outlives this object.
  explicit PageFlow(CacheState& state) : state_(state) {}

  /// Returns a lower bound of the pages of a group that are free, evictable or, as far as known, available from the
  /// system.
  std::uint64_t room(std::size_t group) const;
  /// Returns true if `pages` pages of a group are free or evictable, after growing the pool as far as allowed.
  bool may_be_free(std::size_t group, std::uint64_t pages);
  /// Evicts until `pages` pages of a group are free, or nothing more may be evicted. Returns true if they are free.
  /// `taker`: the namespace that needs them. Nothing: none in particular.
  bool make_free(std::size_t group, std::uint64_t pages, std::optional<NamespaceId> taker = {});
  /// Evicts at least `pages` pages of a group, or all that may be evicted. Returns the number evicted.
  std::size_t evict(std::size_t group, std::uint64_t pages, Cause cause = Cause::room,
                    std::optional<NamespaceId> taker = {});
  /// Does the first half of evict, or a part of it if tenants have shares: call it again until it returns nothing. The
  /// returned pages have no owner and are not free. They are valid until the next call of the index.
  GroupPages evict_from_index(std::size_t group, std::uint64_t pages, Cause cause, LeavingVisitor* visitor,
                              std::optional<NamespaceId> taker = {});
  /// Evicts what a tenant has above its ceiling, after an operation of one of its namespaces.
  void keep_ceiling(NamespaceId space);
  /// Releases a lock of a namespace, and frees pages that only the lock kept. `ended`: facts about its request's end,
  /// for the policies. May be null (the request continues).
  void release(const Lock& lock, NamespaceId space, const RequestFacts* ended);
  /// Evicts everything in a namespace that is not locked. Returns the tokens freed in the first group. `below`: also in
  /// the tier below.
  std::uint64_t flush(NamespaceId space, bool below = true);
  /// Reports the limit of a group's pool to the index, if it has changed.
  void report_limit(std::size_t group);
  /// Replaces the policy of a group. Returns false, and changes nothing, if the index cannot evict in its order.
  /// `component`: its name in error messages; may be empty (`name` is used). All policies of pools are PolicyGuards.
  bool use_policy(std::size_t group, std::shared_ptr<EvictionStrategy> policy, std::string_view name,
                  std::string component = {});

  /// Frees pages that the index evicted, and counts them as evicted. `by` as in free.
  void take_evicted(const GroupPages& evicted, const char* by);
  /// Frees pages. `by` is the name of the releasing operation in the ledger.
  void free(std::size_t group, std::span<const Page> pages, const char* by);
  void free(const GroupPages& pages, const char* by);
  /// Counts the operation, checks the ledger, pauses if the stop condition is met, and publishes.
  void end_operation(Operation after);

  CacheState& state() { return state_; }
  Digest& digest() { return digest_; }
  /// Returns a hash of the digest, the counters and the sizes of the first group.
  std::uint64_t total_digest() const;
  /// May be null (no tier below).
  TierListener* tier() const { return tier_; }
  /// Sets the tier below. REQUIRES: it outlives this object.
  void attach_tier(TierListener& tier) { tier_ = &tier; }
  /// May be null (no feed).
  Publisher* publisher() { return publisher_; }
  void publish_to(Publisher* publisher) { publisher_ = publisher; }
  /// Returns true if a policy in use reads prefix prints.
  bool prints_wanted() const { return prints_wanted_; }
  void look_for_prints();

 private:
  void replace_failed_policies();
  void pause_if_met();
  void take_from_index(const GroupPages& evicted);

  CacheState& state_;
  std::array<std::uint64_t, kMaxGroups> limits_{};  ///< limit of each pool that was reported to the index; 0: none yet
  Digest digest_;
  Publisher* publisher_ = nullptr;
  TierListener* tier_ = nullptr;
  bool prints_wanted_ = false;
  std::vector<std::shared_ptr<EvictionStrategy>> retired_;  ///< replaced ones that an index that threw may still use
};

}  // namespace canopy
