// Pages that the index gives up have no owner until free() returns them to their pool. Each function frees them before
// the operation ends, since end_operation() checks the sum of all owners. Only evict_from_index() leaves them to its
// caller.

#include "page_flow.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <new>
#include <utility>

#include <cache/guard/index_port.h>
#include <cache/guard/policy_guard.h>
#include <cache/publish/publisher.h>
#include <cache/tenants/tenants.h>

namespace canopy {

std::uint64_t PageFlow::room(std::size_t group) const {
  const Pool& pool = state_.pools[group];
  const Sizes sizes = state_.index->sizes(group);
  std::uint64_t room = pool.free_pages() + sizes.evictable / state_.page_size;
  if (pool.draining() || pool.above_limit()) {
    // Pages evicted from a draining segment are not free afterwards, and those above the limit will be withdrawn. Pages
    // that stay may all lie in other segments.
    const std::uint64_t stays = sizes.protected_ / state_.page_size + state_.owned[group] + state_.moving[group],
                        most = std::min(pool.offered(), pool.limit());
    room = std::min(room, most - std::min(most, stays));
  }
  return room + pool.growable();
}

bool PageFlow::may_be_free(std::size_t group, std::uint64_t pages) {
  const std::uint64_t missing = state_.pools[group].shortfall(pages);
  report_limit(group);
  return missing == 0 || room(group) >= pages;
}

void PageFlow::report_limit(std::size_t group) {
  const std::uint64_t limit = state_.pools[group].limit();
  if (limit == std::exchange(limits_[group], limit)) return;
  state_.index->call("set_capacity", &PrefixIndex::set_capacity, group,
                     limit == kUnlimited ? kUnlimited : limit * state_.page_size);
  if (state_.tenants) state_.tenants->all_changed();  // floors are parts of the limit
}

GroupPages PageFlow::evict_from_index(std::size_t group, std::uint64_t pages, Cause cause, LeavingVisitor* visitor,
                                      std::optional<NamespaceId> taker) {
  if (state_.policy_failed) replace_failed_policies();
  GroupPages evicted;
  if (Tenants* const tenants = state_.tenants.get()) {
    const std::optional<TenantId> by = taker ? std::optional(tenants->of(*taker)) : std::nullopt;
    const auto loser = tenants->loser(group, by, pages);
    if (!loser) return {};
    evicted = timed(state_, [&] { return state_.index->evict_one(loser->tenant, group, loser->most, cause, visitor); });
    tenants->evicted(*loser, by, evicted[0].size());
    if (publisher_) publisher_->evicted(loser->tenant, by, evicted[0].size(), loser->floor_gives_way);
  } else {
    evicted = timed(state_, [&] { return state_.index->evict(group, pages, cause, visitor); });
  }
  if (group == 0) ++state_.counters.evict_calls;
  digest_.take(Digest::Step::evict, group, pages, evicted[group].size());
  return evicted;
}

/// Frees pages that the index has evicted, after the tier below has copied them.
void PageFlow::take_from_index(const GroupPages& evicted) {
  if (tier_) tier_->evicted();
  take_evicted(evicted, "evict");
}

std::size_t PageFlow::evict(std::size_t group, std::uint64_t pages, Cause cause, std::optional<NamespaceId> taker) {
  LeavingVisitor* const visitor = tier_ ? tier_->eviction_visitor() : nullptr;
  std::size_t count = 0, more = 0;
  do {
    const GroupPages evicted = evict_from_index(group, pages - count, cause, visitor, taker);
    count += more = evicted[group].size();
    take_from_index(evicted);
  } while (state_.tenants && more > 0 && count < pages);
  if (publisher_ && taker && count > 0) publisher_->evicted_for(*taker);
  end_operation(Operation::evict);
  return count;
}

void PageFlow::keep_ceiling(NamespaceId space) {
  if (!state_.tenants) return;
  const TenantId tenant = state_.tenants->of(space);
  state_.tenants->changed(tenant);
  LeavingVisitor* const visitor = tier_ ? tier_->eviction_visitor() : nullptr;
  bool any = false;
  for (std::size_t g = 0; g < state_.pools.size(); ++g) {
    for (std::uint64_t above = state_.tenants->above_ceiling(g, tenant); above > 0;
         above = state_.tenants->above_ceiling(g, tenant)) {
      if (state_.policy_failed) replace_failed_policies();
      const GroupPages evicted =
          timed(state_, [&] { return state_.index->evict_one(tenant, g, above, Cause::ceiling, visitor); });
      if (evicted[g].empty()) {
        take_from_index(evicted);  // the tier forgets what an index that broke off has reported
        break;
      }
      any = true;
      state_.tenants->evicted({tenant}, tenant, evicted[0].size());
      if (publisher_) publisher_->evicted(tenant, tenant, evicted[0].size(), false);
      digest_.take(Digest::Step::evict, g, above, evicted[g].size());
      take_from_index(evicted);
    }
  }
  if (any) end_operation(Operation::evict);
}

void PageFlow::release(const Lock& lock, NamespaceId space, const RequestFacts* ended) {
  take_evicted(timed(state_, [&] { return state_.index->release(lock, ended); }), "release");
  if (state_.tenants) state_.tenants->changed(space);
}

void PageFlow::take_evicted(const GroupPages& evicted, const char* by) {
  state_.counters.evicted_tokens += evicted[0].size() * state_.page_size;
  for (std::size_t g = 0; g < state_.pools.size(); ++g) digest_.take(evicted[g]);
  free(evicted, by);
  for (std::size_t g = 0; state_.stop.waiting() && g < state_.pools.size(); ++g)
    state_.stop.evicted(g, evicted[g].size());
}

bool PageFlow::make_free(std::size_t group, std::uint64_t pages, std::optional<NamespaceId> taker) {
  Pool& pool = state_.pools[group];
  const std::uint64_t changes = pool.changes();
  std::uint64_t missing = pool.shortfall(pages);
  report_limit(group);
  for (bool more = true; missing > 0 && more; missing = pool.shortfall(pages))
    more = evict(group, missing, Cause::room, taker) > 0 && pool.draining();  // some may be of a draining segment
  if (pool.changes() != changes) end_operation(Operation::reserve);           // the pool grew
  return missing == 0;
}

std::uint64_t PageFlow::flush(NamespaceId space, bool below) {
  if (tier_ && below) tier_->flushed(space);
  const GroupPages flushed = state_.index->flush(space);
  const std::uint64_t tokens = flushed[0].size() * state_.page_size;
  digest_.take(Digest::Step::flush, static_cast<std::uint64_t>(space), tokens);
  free(flushed, "flush");
  end_operation(Operation::flush);
  return tokens;
}

bool PageFlow::use_policy(std::size_t group, std::shared_ptr<EvictionStrategy> policy, std::string_view name,
                          std::string component) {
  if (component.empty()) component = fmt::format("eviction strategy '{}'", name);
  auto guarded =
      std::make_shared<PolicyGuard>(std::move(policy), std::move(component), state_.ledger, state_.policy_failed);
  // From here on nothing needs memory: once the index has the policy, the pool must keep it.
  std::string own_name(name);
  retired_.reserve(retired_.size() + 1);
  // The index stops using the old one before the pool destroys it.
  if (!state_.index->use_policy(group, guarded.get())) return false;
  state_.groups[group].policy = std::move(own_name);
  state_.groups[group].eviction = guarded.get();
  auto before = state_.pools[group].use_policy(std::move(guarded));
  if (state_.index->has_thrown()) retired_.push_back(std::move(before));
  look_for_prints();
  if (publisher_) publisher_->policy(group);
  end_operation(Operation::policy);
  return true;
}

/// Ranks all nodes again. Some were ranked by the failed policy, and later ones by its replacement.
void PageFlow::replace_failed_policies() {
  state_.policy_failed = false;
  for (std::size_t g = 0; g < state_.pools.size(); ++g) {
    auto& policy = static_cast<PolicyGuard&>(*state_.pools[g].eviction());
    if (!policy.take_failure()) continue;
    state_.groups[g].policy = PolicyGuard::kInstead;
    state_.index->use_policy(g, &policy);
    const Sentence note("group '{}': {} threw, and {} evicts in its place since operation {}", state_.groups[g].name,
                        policy.name(), PolicyGuard::kInstead, state_.operations);
    state_.note(note);
    std::fprintf(stderr, "canopy: %s\n", note.c_str());
    look_for_prints();
    if (publisher_) publisher_->policy(g);
  }
  if (state_.tenants) state_.tenants->replace_failed_policies();
}

void PageFlow::look_for_prints() {
  prints_wanted_ = (state_.tenants && state_.tenants->reads_prints()) ||
                   std::any_of(state_.pools.begin(), state_.pools.end(),
                               [](const Pool& pool) { return pool.eviction()->reads_prints() != Prints::none; });
}

void PageFlow::free(std::size_t group, std::span<const Page> pages, const char* by) {
  if (pages.empty()) return;
  Pool& pool = state_.pools[group];
  state_.ledger.expect(pool.free(pages), [&] {
    return Sentence("group '{}': {} gave back {} pages of which one was not out", pool.group(), by, pages.size());
  });
}

void PageFlow::free(const GroupPages& pages, const char* by) {
  for (std::size_t g = 0; g < state_.pools.size(); ++g) free(g, pages[g], by);
}

void PageFlow::end_operation(Operation after) {
  ++state_.operations;
  for (std::size_t g = 0; g < state_.pools.size(); ++g)
    state_.ledger.check(state_.pools[g].group(), state_.pools[g].occupancy(), state_.index->sizes(g), state_.page_size,
                        state_.owned[g], state_.moving[g], name_of(after));
  if (state_.stop.waiting()) pause_if_met();
  if (publisher_) publisher_->turn(after);
}

/// Pauses the engine before the operation is published: the reason is part of the commit that met the condition.
void PageFlow::pause_if_met() {
  const Command& command = state_.stop.command();
  if (command.until == Condition::free) state_.stop.free_pages(state_.pools[command.group].free_pages());
  const std::optional<Sentence> reason = state_.stop.take_reason();
  if (!reason) return;
  state_.paused = true;
  state_.paused_because.assign(reason->view());  // has room for it since the condition was set
  if (publisher_) publisher_->paused();
}

std::uint64_t PageFlow::total_digest() const {
  const Counters& counters = state_.counters;
  const Sizes sizes = state_.index->sizes(0);
  const std::uint64_t words[] = {digest_.value(),     counters.requests,    counters.prompt_tokens,
                                 counters.hit_tokens, counters.evict_calls, counters.evicted_tokens,
                                 counters.finished,   counters.aborted,     counters.repointed_pages,
                                 sizes.evictable,     sizes.protected_};
  return XXH3_64bits(words, sizeof(words));
}

}  // namespace canopy
