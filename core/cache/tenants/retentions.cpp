#include "retentions.h"

#include <algorithm>
#include <new>

#include <cache/guard/index_port.h>
#include <cache/publish/publisher.h>
#include "tenants.h"

namespace canopy {

void Retentions::begin(RequestState& request, std::span<const Retention> wanted) {
  if (wanted.empty()) return;
  for (const Retention& retention : wanted) request.priority = std::max(request.priority, retention.priority);
  Tenants* const tenants = state_.tenants.get();
  if (!tenants) return;
  const TenantId tenant = tenants->of(request.space);
  const auto number = static_cast<std::size_t>(tenant);
  try {
    if (promised_.size() <= number) promised_.resize(number + 1);
    request.promises.reserve(wanted.size());
  } catch (const std::bad_alloc&) {
    return;  // nothing is promised
  }
  const Lock& lock = request.lock;
  const Units kept = lock.length - state_.index->unkept(lock.node);
  const std::uint64_t budget = tenants->share(tenant).pins, charged = tenants->kept_tokens(tenant) + promised_[number];
  const auto cost = [&](Units units) { return units - std::min(units, kept); };
  for (const Retention& retention : wanted) {
    // A prefix can only end where every group has a page or a state.
    const Units pages = state_.whole_pages(std::min(retention.tokens, request.prompt)),
                units = pages - pages % (state_.page_size * state_.pools[0].needs().grid);
    const Units most = std::max(request.retained, units);
    if (charged + cost(most) > budget) {
      tenants->refused_pins(tenant, units - std::min(units, request.retained));
      continue;
    }
    if (units == 0) continue;
    request.promises.push_back({units, retention.us});
    request.retained = most;
  }
  if (request.retained == 0) return;
  request.promised = cost(request.retained);
  if (const Units here = std::min(request.retained, lock.length); here > 0) {
    request.kept = hold(request, here);
    const Units charge = request.kept.length > 0 ? state_.index->keep(request.kept) : 0;
    tenants->kept(tenant, charge);
    request.promised -= std::min<std::uint64_t>(request.promised, charge);
  }
  promised_[number] += request.promised;
}

/// Locks what is resident of the first `units` units of a request's tokens. Returns an empty lock if nothing is, or if
/// the system has no memory for it.
Lock Retentions::hold(const RequestState& request, Units units) {
  std::span<const std::uint32_t> words;
  try {
    words = state_.codec->encode(std::span<const Token>(request.tokens).first(units + state_.overlap), words_);
  } catch (const std::bad_alloc&) {
    return {};
  }
  Found found;
  const Lock lock = timed(state_, [&] {
    found = state_.index->find({request.space, words});
    return found.length > 0 ? state_.index->hold(found.node) : Lock{};
  });
  if (lock.length == found.length || lock.node == NodeId::none) return lock;
  pages_.release(lock, request.space, nullptr);
  return {};
}

void Retentions::finish(RequestState& request) {
  for (const RequestState::Promise& promise : request.promises)
    keep(request, std::min(promise.units, request.lock.length), promise.us);
  drop(request);
}

/// Keeps the first `units` units of a request, or prolongs their retention.
void Retentions::keep(const RequestState& request, Units units, std::uint64_t us) {
  const Lock lock = units > 0 ? hold(request, units) : Lock{};
  if (lock.node == NodeId::none) return;
  const std::uint64_t until = us < kUnlimited - now_us_ ? now_us_ + us : kUnlimited;
  const auto [found, is_new] = state_.kept.try_emplace(lock.node, KeptPath{lock, request.space, until});
  if (is_new) {
    state_.tenants->kept(state_.tenants->of(request.space), state_.index->keep(lock));
    if (Publisher* publisher = pages_.publisher()) publisher->pinned(lock.node, true);
  } else {
    pages_.release(lock, request.space, nullptr);
    if (until <= found->second.until_us) return;
    ends_.erase({found->second.until_us, lock.node});
    found->second.until_us = until;
  }
  ends_.emplace(until, lock.node);
}

void Retentions::drop(RequestState& request) {
  if (request.kept.node != NodeId::none) {
    const auto units = static_cast<std::int64_t>(state_.index->unkeep(request.kept));
    state_.tenants->kept(state_.tenants->of(request.space), -units);
    drainer_.releasing(request.kept);
    pages_.release(request.kept, request.space, nullptr);
    request.kept = {};
  }
  if (request.promised > 0) promised_[static_cast<std::size_t>(state_.tenants->of(request.space))] -= request.promised;
  request.promised = 0;
  request.promises.clear();
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
  const KeptPath path = found->second;
  state_.kept.erase(found);
  ends_.erase({path.until_us, node});
  const auto units = static_cast<std::int64_t>(state_.index->unkeep(path.lock));
  state_.tenants->kept(state_.tenants->of(path.space), -units);
  drainer_.releasing(path.lock);
  pages_.release(path.lock, path.space, nullptr);
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
