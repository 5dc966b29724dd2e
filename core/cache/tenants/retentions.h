#pragma once

#include <canopy/engine/request_spec.h>

#include <set>
#include <utility>
#include <vector>

#include <cache/cache_state.h>
#include <cache/drain/drainer.h>
#include <cache/pages/page_flow.h>

namespace canopy {

/// Keeps the prefixes that requests asked to retain (RequestSpec::retention), within the budget of their tenant. A kept
/// prefix is locked, so its pages count as protected in the ledger. Several retentions of one tenant charge a page that
/// they share once. What was promised to a running request is charged from its begin on.
class Retentions {
 public:
  Retentions(PageFlow& pages, Drainer& drainer) : pages_(pages), state_(pages.state()), drainer_(drainer) {}

  /// Promises a request what its tenant's budget allows, and keeps the part that is resident. Call it after the match.
  void begin(RequestState& request, std::span<const Retention> wanted);
  /// Keeps, from a commit on, the window or the state at the end of each promised prefix that the request's lock now
  /// covers: the request itself moves on and no longer holds it. A promise becomes shorter if no boundary is left at
  /// its end, since the request freed the window before it was committed. Where every group holds whole paths it does
  /// nothing: the request's own lock covers them.
  void committed(RequestState& request);
  /// Returns the most pages of a group that take_back() may make evictable; 0 in a group of whole paths.
  std::size_t held_pages(const RequestState& request, std::size_t group) const;
  /// Takes back what begin() and committed() keep, for a request that finds no room: RequestState::retained is then
  /// what is left. Returns false if there is nothing, as where every group holds whole paths: the request needs these
  /// itself.
  bool take_back(RequestState& request);
  /// Keeps what was promised and committed, from now on for the promised time. Call it before the lock is released.
  void finish(RequestState& request);
  /// Takes the memory for charges to so many tenants. Returns false if the system has none.
  bool has_room(std::size_t tenants);
  /// Moves the charges of namespaces to the tenants that they now belong to. REQUIRES: has_room for all tenants.
  void tenants_changed();
  /// Drops what was promised.
  void drop(RequestState& request);
  /// Ends the retentions whose time is over. `now_us`: the time of Engine::turn.
  void turn(std::uint64_t now_us);
  /// Flushes a namespace as Engine::flush: ends its retentions, and then evicts everything that is not locked.
  std::uint64_t flush(NamespaceId space);

 private:
  Found find(RequestState& request, Units units);
  Units give_up_kept(RequestState& request);
  Lock hold(const Found& found, NamespaceId space);
  Lock hold(RequestState& request, Units units) { return hold(find(request, units), request.space); }
  void release(Lock& lock, NamespaceId space);
  void count_left(RequestState& request);
  void refused(RequestState& request, TenantId payer, Units units);
  Units keep(RequestState& request, Units units, std::uint64_t us);
  void end(NodeId node);

  PageFlow& pages_;
  CacheState& state_;
  Drainer& drainer_;
  std::set<std::pair<std::uint64_t, NodeId>> ends_;  ///< kept paths by the time at which they end
  std::vector<std::uint64_t> promised_;  ///< by tenant: tokens promised to running requests and not kept yet
  std::uint64_t now_us_ = 0;
};

}  // namespace canopy
