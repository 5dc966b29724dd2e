// Each path in CacheState::kept has one lock, one charge to its payer and one entry in `ends_`. The entry of a tenant
// in `promised_` is the sum of RequestState::promised over the running requests that it pays for.

#include "retentions.h"

#include <algorithm>
#include <new>

#include <cache/guard/index_port.h>
#include <cache/publish/publisher.h>
#include "tenants.h"

namespace canopy {

void Retentions::begin(RequestState& request, std::span<const Retention> wanted) {
  Tenants* const tenants = state_.tenants.get();
  if (!tenants || wanted.empty()) return;
  const TenantId payer = tenants->of(request.space);
  const auto number = static_cast<std::size_t>(payer);
  if (!has_room(number + 1)) return;  // nothing is promised
  try {
    request.promises.reserve(wanted.size());
  } catch (const std::bad_alloc&) {
    ++state_.lacked;
    return;
  }
  const Lock& lock = request.lock;
  const Units kept = lock.length - state_.index->unkept(lock.node);
  const std::uint64_t budget = tenants->share(payer).pins, charged = tenants->kept_tokens(payer) + promised_[number];
  const auto cost = [&](Units units) { return units - std::min(units, kept); };
  for (const Retention& retention : wanted) {
    // A prefix can only end where every group has a page or a state.
    const Units pages = state_.whole_pages(std::min(retention.tokens, request.prompt)),
                units = pages - pages % (state_.page_size * state_.pools[0].needs().grid);
    const Units most = std::max(request.retained, units);
    if (charged + cost(most) > budget) {
      refused(request, payer, units - std::min(units, request.retained));
      continue;
    }
    if (units == 0) continue;
    request.promises.push_back({units, retention.us});
    request.retained = most;
  }
  if (request.retained == 0) return;
  request.payer = payer;
  request.promised = cost(request.retained);
  if (const Units here = std::min(request.retained, lock.length); here > 0) {
    request.kept = hold(request, here);
    const Units charge = request.kept.length > 0 ? state_.index->keep(request.kept) : 0;
    tenants->kept(payer, charge);
    request.promised -= std::min<std::uint64_t>(request.promised, charge);
  }
  promised_[number] += request.promised;
  committed(request);  // counts the part that the match has passed
}

/// Finds what is resident of the first `units` units of a request's tokens. Finds nothing if the system has no memory.
Found Retentions::find(RequestState& request, Units units) {
  try {
    const auto words =
        state_.codec->encode(std::span<const Token>(request.tokens).first(units + state_.overlap), request.words);
    return timed(state_, [&] { return state_.index->find({request.space, words}); });
  } catch (const std::bad_alloc&) {
    return ++state_.lacked, Found{};
  }
}

/// Locks what find() found. Returns an empty lock if the system has no memory for it.
Lock Retentions::hold(const Found& found, NamespaceId space) {
  if (found.length == 0) return {};
  const Lock lock = timed(state_, [&] { return state_.index->hold(found.node); });
  if (lock.length == found.length) return lock;
  pages_.release(lock, space, nullptr);
  return {};
}

void Retentions::committed(RequestState& request) {
  if (std::ranges::all_of(state_.pools, [](const Pool& pool) { return pool.needs().whole_path(); })) return;
  for (RequestState::Promise& promise : request.promises) {
    if (promise.lock.length > 0 || promise.units > request.lock.length) continue;
    promise.lock = hold(request, promise.units);
    promise.units = promise.lock.length;  // shorter if no boundary is left there
  }
  count_left(request);
}

std::size_t Retentions::held_pages(const RequestState& request, std::size_t group) const {
  const PageNeeds& needs = state_.pools[group].needs();
  if (needs.whole_path()) return 0;
  const auto of = [&](const Lock& lock) {
    return needs.count(lock.from[group] / state_.page_size, lock.length / state_.page_size);
  };
  std::size_t pages = of(request.kept);
  for (const RequestState::Promise& promise : request.promises) pages += of(promise.lock);
  return pages;
}

bool Retentions::take_back(RequestState& request) {
  if (std::ranges::all_of(state_.pools, [](const Pool& pool) { return pool.needs().whole_path(); })) return false;
  const Units held = request.kept.length;  // the window at the end of what it found
  bool any = held > 0;
  if (any) {  // promised again, as far as it is left
    const Units units = give_up_kept(request);
    request.promised += units;
    promised_[static_cast<std::size_t>(request.payer)] += units;
  }
  for (RequestState::Promise& promise : request.promises) {
    if (promise.lock.length == 0 && promise.units > held) continue;
    any |= promise.lock.length > 0;
    if (promise.lock.length > 0) release(promise.lock, request.space);
    promise.units = 0;
  }
  count_left(request);
  return any;
}

/// Counts what is left of the promises of a request, and gives the rest of their charge back.
void Retentions::count_left(RequestState& request) {
  Units left = 0;
  for (const RequestState::Promise& promise : request.promises) left = std::max(left, promise.units);
  if (left >= request.retained) return;
  const Units less = request.retained - left;
  refused(request, request.payer, less);
  const std::uint64_t charge = std::min<std::uint64_t>(request.promised, less);
  request.promised -= charge;
  promised_[static_cast<std::size_t>(request.payer)] -= charge;
  request.retained = left;
}

/// Counts units whose retention was refused, once for a request, however often it is tried.
void Retentions::refused(RequestState& request, TenantId payer, Units units) {
  if (request.admitted) state_.tenants->refused_pins(payer, units);
  else request.refused += units;
}

void Retentions::finish(RequestState& request) {
  committed(request);  // counts the part that a later match has passed
  for (RequestState::Promise& promise : request.promises) {
    const Units units = std::min(promise.units, request.lock.length), kept = keep(request, units, promise.us);
    if (kept < units) promise.units = kept;  // the window before this boundary had left when it was committed
  }
  count_left(request);
  drop(request);
}

/// Keeps the first `units` units of a request, or prolongs their retention. Keeps nothing if the system has no memory.
/// Returns the units that are kept.
Units Retentions::keep(RequestState& request, Units units, std::uint64_t us) {
  const Found found = units > 0 ? find(request, units) : Found{};
  if (found.length == 0) return 0;
  const std::uint64_t until = us < kUnlimited - now_us_ ? now_us_ + us : kUnlimited;
  if (const auto there = state_.kept.find(found.node); there != state_.kept.end()) {
    if (until <= there->second.until_us) return found.length;
    auto end = ends_.extract({there->second.until_us, found.node});
    end.value().first = there->second.until_us = until;
    ends_.insert(std::move(end));
    return found.length;
  }
  // The entries take their memory before there is a lock that they alone know.
  try {
    KeptPath& path = state_.kept[found.node] = {{}, request.space, request.payer, until};
    ends_.emplace(until, found.node);
    path.lock = hold(found, request.space);
    if (path.lock.length > 0) {
      state_.tenants->kept(path.payer, state_.index->keep(path.lock));
      if (Publisher* publisher = pages_.publisher()) publisher->pinned(found.node, true);
      return found.length;
    }
  } catch (const std::bad_alloc&) {
    ++state_.lacked;
  }
  ends_.erase({until, found.node});
  state_.kept.erase(found.node);
  return 0;
}

void Retentions::release(Lock& lock, NamespaceId space) {
  drainer_.releasing(lock);
  pages_.release(std::exchange(lock, Lock{}), space, nullptr);
}

/// Releases the lock on what a request found. Returns the units that nothing keeps any longer.
Units Retentions::give_up_kept(RequestState& request) {
  const Units units = state_.index->unkeep(request.kept);
  state_.tenants->kept(request.payer, -std::int64_t{units});
  release(request.kept, request.space);
  return units;
}

void Retentions::drop(RequestState& request) {
  for (RequestState::Promise& promise : request.promises)
    if (promise.lock.length > 0) release(promise.lock, request.space);
  if (request.kept.length > 0) give_up_kept(request);
  if (request.promised > 0) promised_[static_cast<std::size_t>(request.payer)] -= request.promised;
  request.promised = 0;
  request.promises.clear();
}

bool Retentions::has_room(std::size_t tenants) try {
  if (promised_.size() < tenants) promised_.resize(tenants);
  return true;
} catch (const std::bad_alloc&) {
  return ++state_.lacked, false;
}

void Retentions::tenants_changed() {
  Tenants& tenants = *state_.tenants;
  // A page that several retentions of a namespace share is charged once: all of them end before one begins again.
  const auto each = [&](const auto& charge) {
    for (auto& [node, path] : state_.kept) charge(path.lock, path.payer, path.space);
    for (RequestState* const request : state_.live)
      if (request->kept.length > 0) charge(request->kept, request->payer, request->space);
  };
  each([&](const Lock& lock, TenantId payer, NamespaceId space) {
    if (payer != tenants.of(space)) tenants.kept(payer, -std::int64_t{state_.index->unkeep(lock)});
  });
  for (RequestState* const request : state_.live) {
    const TenantId payer = tenants.of(request->space);
    if (request->promised == 0 || payer == request->payer) continue;
    promised_[static_cast<std::size_t>(request->payer)] -= request->promised;
    promised_[static_cast<std::size_t>(payer)] += request->promised;
  }
  each([&](const Lock& lock, TenantId& payer, NamespaceId space) {
    if (payer == tenants.of(space)) return;
    payer = tenants.of(space);
    tenants.kept(payer, state_.index->keep(lock));
  });
  for (RequestState* const request : state_.live)
    if (request->retained > 0 || request->promised > 0) request->payer = tenants.of(request->space);
}

void Retentions::turn(std::uint64_t now_us) {
  now_us_ = std::max(now_us_, now_us);
  const bool any = !ends_.empty() && ends_.begin()->first <= now_us_;
  while (!ends_.empty() && ends_.begin()->first <= now_us_) end(ends_.begin()->second);
  if (any) drainer_.go_on();
}

/// Ends the retention of a path.
void Retentions::end(NodeId node) {
  const auto found = state_.kept.find(node);
  KeptPath path = found->second;
  state_.kept.erase(found);
  ends_.erase({path.until_us, node});
  state_.tenants->kept(path.payer, -std::int64_t{state_.index->unkeep(path.lock)});
  release(path.lock, path.space);
  if (Publisher* publisher = pages_.publisher()) publisher->pinned(node, state_.pins.contains(node));
  pages_.keep_ceiling(path.space);
  pages_.end_operation(Operation::control);
}

std::uint64_t Retentions::flush(NamespaceId space) {
  std::vector<NodeId> nodes;
  for (const auto& [node, path] : state_.kept)
    if (path.space == space) nodes.push_back(node);
  std::sort(nodes.begin(), nodes.end());
  for (const NodeId node : nodes) end(node);
  return pages_.flush(space);
}

}  // namespace canopy
