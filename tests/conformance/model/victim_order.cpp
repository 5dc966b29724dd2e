#include "victim_order.h"

#include <program/mismatch.h>

#include <algorithm>
#include <tuple>

namespace canopy::test {

LeavesBefore order_of(std::string_view policy) {
  using H = PageHistory;
  const auto by = [](auto key) { return [key](const H& a, const H& b) { return key(a) < key(b); }; };
  if (policy == "lru") return by([](const H& h) { return h.last_access; });
  if (policy == "mru") return by([](const H& h) { return ~h.last_access; });
  if (policy == "fifo") return by([](const H& h) { return h.created; });
  if (policy == "filo") return by([](const H& h) { return ~h.created; });
  if (policy == "lfu") return by([](const H& h) { return std::tuple(h.hits, h.last_access); });
  if (policy == "priority") return by([](const H& h) { return std::tuple(h.priority, h.last_access); });
  if (policy == "slru") return by([](const H& h) { return std::tuple(h.hits >= 2, h.last_access); });
  return [](const H&, const H&) { return false; };
}

bool has_known_order(std::string_view policy) {
  const LeavesBefore before = order_of(policy);
  const PageHistory old{1, 1, 0, 0, 0}, young{2, 2, 2, 0, 1};
  return before(old, young) || before(young, old);
}

void VictimOrder::used(ChainView path, bool is_hit) {
  ++now_;
  for (const PrefixName name : path) {
    PageHistory& history = places_[at_.at(name)].history;
    history.last_access = now_;
    history.hits += is_hit;
  }
  if (!path.empty()) mark(path.back());
}

void VictimOrder::inserted(ChainView chain, std::size_t had, std::int32_t priority, bool counts, NamespaceId space) {
  ++now_;
  std::uint32_t before = kNone;
  for (std::size_t i = 0; i < chain.size(); ++i) {
    if (i >= had) {
      if (unused_.empty()) unused_.push_back(static_cast<std::uint32_t>(places_.size())), places_.emplace_back();
      const std::uint32_t at = unused_.back();
      unused_.pop_back();
      places_[at] = {chain[i], before, 0, 0, true, false, space, {now_, now_, 0, 0, priority}};
      at_.emplace(chain[i], at);
      if (before != kNone) ++places_[before].after;
    }
    before = at_.at(chain[i]);
    PageHistory& history = places_[before].history;
    history.last_access = now_;
    history.inserts += counts;
    history.priority = std::max(history.priority, priority);
  }
  if (had > 0) mark(chain[had - 1]);
  if (!chain.empty()) mark(chain.back());
}

void VictimOrder::lock(ChainView chain) {
  for (const PrefixName name : chain) ++places_[at_.at(name)].locks;
}

void VictimOrder::unlock(ChainView chain) {
  for (const PrefixName name : chain) --places_[at_.at(name)].locks;
}

void VictimOrder::forget(PrefixName name) {
  const auto found = at_.find(name);
  Place& place = places_[found->second];
  if (place.ends) --marks_;
  if (place.before != kNone) --places_[place.before].after;
  place.here = false;
  unused_.push_back(found->second);
  at_.erase(found);
}

void VictimOrder::clear() {
  places_.clear();
  unused_.clear();
  at_.clear();
  marks_ = 0;
}

void VictimOrder::assign(NamespaceId space, TenantId tenant) {
  const auto i = static_cast<std::size_t>(space);
  if (i >= tenants_.size()) tenants_.resize(i + 1);
  tenants_[i] = tenant;
}

void VictimOrder::use_policy(TenantId tenant, std::optional<std::string> policy) {
  if (!policy) {
    own_.erase(tenant);
    return;
  }
  std::size_t i = 0;
  while (i < orders_.size() && orders_[i].policy != *policy) ++i;
  if (i == orders_.size()) orders_.push_back({*policy, order_of(*policy)});
  own_[tenant] = i;
}

std::vector<std::vector<PrefixName>> VictimOrder::next(std::optional<TenantId> of) const {
  std::vector<std::vector<const Place*>> least(orders_.size());
  for (const Place& place : places_) {
    if (!may_leave(place)) continue;
    const TenantId tenant = tenant_of(place.space);
    if (of && tenant != *of) continue;
    const auto own = own_.find(tenant);
    const std::size_t i = own == own_.end() ? 0 : own->second;
    const LeavesBefore& before = orders_[i].before;
    auto& first = least[i];
    if (!first.empty() && before(first.front()->history, place.history)) continue;
    if (!first.empty() && before(place.history, first.front()->history)) first.clear();
    first.push_back(&place);
  }
  std::vector<std::vector<PrefixName>> segments;
  for (const auto& first : least)
    for (const Place* last : first) segments.push_back(segment_of(*last));
  return segments;
}

std::vector<PrefixName> VictimOrder::leaves() const {
  std::vector<PrefixName> names;
  for (const Place& place : places_)
    if (may_leave(place)) names.push_back(place.name);
  return names;
}

void VictimOrder::mark(PrefixName name) {
  Place& place = places_[at_.at(name)];
  if (place.ends) return;
  place.ends = true;
  ++marks_;
  // Only the middle of a segment has a follower and no mark. `inserted` marks the last page that was present when the
  // new followers are already linked, but that page had a mark before.
  if (place.after > 0) ++splits_;
}

std::vector<PrefixName> VictimOrder::segment_of(const Place& last) const {
  if (!last.ends) disagree("the model has a leaf that ends nowhere");
  std::vector<PrefixName> names{last.name};
  for (std::uint32_t at = last.before; at != kNone && !places_[at].ends; at = places_[at].before) {
    if (places_[at].after != 1 || places_[at].locks != last.locks || places_[at].history != last.history)
      disagree("the model has a segment whose pages differ");
    names.push_back(places_[at].name);
  }
  std::ranges::reverse(names);
  return names;
}

}  // namespace canopy::test
