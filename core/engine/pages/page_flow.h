#pragma once

#include <canopy/engine/state.h>

#include <memory>
#include <span>
#include <string_view>

#include "pages/below.h"
#include "pages/digest.h"

namespace canopy {

class Publisher;

/// Adds the time it lives to Counters::index_seconds, and keeps the moment for the feed.
class IndexTimer {
 public:
  explicit IndexTimer(EngineState& state) : state_(state), start_(std::chrono::steady_clock::now()) {}
  ~IndexTimer() {
    const auto end = std::chrono::steady_clock::now();
    state_.counters.index_seconds += std::chrono::duration<double>(end - start_).count();
    state_.elapsed_us =
        static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(end - state_.began).count());
  }
  IndexTimer(const IndexTimer&) = delete;

 private:
  EngineState& state_;
  std::chrono::steady_clock::time_point start_;
};

/// How pages go between the pools and the index, and what follows each operation: the ledger's check, the digest, the
/// condition a run waits for, the feed. It knows no request.
class PageFlow {
 public:
  /// REQUIRES: `state` outlives it.
  explicit PageFlow(EngineState& state) : state_(state) {}

  /// At least so many pages of a group are free, may be evicted or, as far as is known, may be had from the system.
  std::uint64_t room(std::size_t group) const;
  /// Whether `pages` pages of a group are free or may be evicted, after growing the pool as far as it may.
  bool may_be_free(std::size_t group, std::uint64_t pages);
  /// Evicts until `pages` pages of a group are free, or nothing more may be evicted. Whether they are.
  bool make_free(std::size_t group, std::uint64_t pages);
  /// Evicts at least `pages` pages of a group, if so many may be. Returns how many were.
  std::size_t evict(std::size_t group, std::uint64_t pages, Cause cause = Cause::room);
  /// The first half of evict: afterwards the pages have no owner and are not free. Valid until the next call of the
  /// index.
  GroupPages evict_from_index(std::size_t group, std::uint64_t pages, Cause cause, LeavingVisitor* told);
  /// Releases a lock, and frees what only the lock kept. `ended`: how its request ended, for the policies; null: it
  /// goes on.
  void release(const Lock& lock, const RequestFacts* ended);
  /// All of a namespace that is not locked. Returns tokens freed in the first group.
  std::uint64_t flush(NamespaceId space);
  /// `component`: what sentences about it call it; empty: its name. All policies of pools are PolicyGuards.
  void use_policy(std::size_t group, std::shared_ptr<EvictionStrategy> policy, std::string_view name,
                  std::string component = {});

  /// Frees pages that the index had and gave up, and counts them as evicted. `by` as in free.
  void take_evicted(const GroupPages& evicted, const char* by);
  /// `by` says in the ledger what gave the pages back.
  void free(std::size_t group, std::span<const Page> pages, const char* by);
  void free(const GroupPages& pages, const char* by);
  /// The end of an operation.
  void settle(Operation after);

  EngineState& state() { return state_; }
  Digest& digest() { return digest_; }
  /// Null: no tier below.
  Below* below() const { return below_; }
  void put_above(Below& below);
  /// Null: no feed.
  Publisher* publisher() { return publisher_; }
  void publish_to(Publisher* publisher) { publisher_ = publisher; }
  /// Whether a policy in use reads prefix prints.
  bool prints_wanted() const { return prints_wanted_; }
  void look_for_prints();

 private:
  void replace_failed_policies();
  void pause_if_met();

  EngineState& state_;
  Digest digest_;
  Publisher* publisher_ = nullptr;
  Below* below_ = nullptr;
  bool prints_wanted_ = false;
};

}  // namespace canopy
