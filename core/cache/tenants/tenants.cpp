// `of_space_` names the same tenant as the index for each namespace that it has. `floors_` is the sum of the floors of
// all tenants. Figures in `losers_` and `floored_` can be too large, since locks and evictions lower them without a
// call of changed(). So furthest() computes the first figure again before it returns a tenant.

#include "tenants.h"

#include <canopy/base/figures.h>
#include <canopy/base/printable.h>
#include <fmt/format.h>

#include <algorithm>
#include <new>

#include <cache/cache_state.h>
#include <cache/guard/index_port.h>
#include <cache/guard/policy_guard.h>

namespace canopy {

std::string flaw_of(const TenantShare& share) {
  if (!(share.weight >= 0.001 && share.weight <= 1e6))
    return fmt::format("weight = {}: expected 0.001 to 1,000,000", share.weight);
  constexpr std::uint64_t kMost = std::uint64_t{1} << 56;  // sums of these do not wrap
  if (std::max(share.floor, share.pins) > kMost)
    return fmt::format("floor = {}, pins = {}: expected at most {} tokens", share.floor, share.pins, kMost);
  for (const std::uint64_t most : {share.ceiling, share.puts})
    if (most > kMost && most != kUnlimited)
      return fmt::format("ceiling = {}, puts = {}: expected at most {} tokens, or no limit", share.ceiling, share.puts,
                         kMost);
  if (share.ceiling < std::max<std::uint64_t>(share.floor, 1))
    return fmt::format("ceiling = {} is below its floor, {}", share.ceiling, share.floor);
  if (share.pins > share.ceiling)
    return fmt::format("pins = {}: what retention keeps must fit below its ceiling, {}", share.pins, share.ceiling);
  return {};
}

Tenants::Tenants(const std::vector<TenantConfig>& config, CacheState& state, std::uint64_t base, bool serves,
                 double kept_free)
    : state_(state), serves_(serves), kept_free_(kept_free) {
  losers_.resize(state.pools.size()), floored_.resize(state.pools.size());
  for (std::size_t g = 0; g < state.pools.size(); ++g) {
    const std::uint64_t limit = state.pools[g].limit();
    part_[g] = limit == kUnlimited || base == kUnlimited
                   ? 1
                   : static_cast<double>(limit * state.page_size) / static_cast<double>(base);
  }
  for (const TenantConfig& tenant : config)
    if (tenant.name == "*") others_ = tenant.share, together_ = tenant.together;
  add(together_ ? "*" : "", others_);  // TenantId::unnamed
  for (const TenantConfig& tenant : config)
    if (tenant.name != "*") add(tenant.name, tenant.share);
}

/// Adds a tenant with the next number. If memory runs out, nothing has changed.
TenantId Tenants::add(std::string_view name, const TenantShare& share) {
  const auto number = static_cast<TenantId>(all_.size());
  reserve();
  Tenant tenant;
  const bool prepared = spare_ && spare_.key() == name;
  if (prepared) tenant.figures.name = std::move(spare_name_);
  else tenant.figures.name = name;
  tenant.figures.share = share;
  set_units(tenant);
  if (prepared) {
    spare_.mapped() = number;
    ids_.insert(std::move(spare_));
  } else if (!name.empty() && number != TenantId::unnamed) {
    ids_.emplace(name, number);
  }
  all_.push_back(std::move(tenant));
  floors_ += share.floor;
  return number;
}

/// Takes memory for one tenant more.
void Tenants::reserve() {
  if (all_.size() == all_.capacity()) all_.reserve(2 * all_.size() + 1);
  for (std::vector<Losers>* each : {&losers_, &floored_})
    for (Losers& losers : *each) losers.grow(all_.size() + 1);
}

/// Converts the tokens of a share into units of each group.
void Tenants::set_units(Tenant& tenant) {
  const TenantShare& share = tenant.figures.share;
  tenant.puts_left = std::min(tenant.puts_left, share.puts);
  for (std::size_t g = 0; g < state_.pools.size(); ++g) {
    const auto units = [&](std::uint64_t tokens) {
      return tokens == kUnlimited ? kUnlimited : static_cast<std::uint64_t>(static_cast<double>(tokens) * part_[g]);
    };
    tenant.floor[g] = units(share.floor);
    tenant.ceiling[g] = units(share.ceiling);
  }
}

bool Tenants::open(std::size_t number, Policies policies) {
  const auto tenant = static_cast<TenantId>(number);
  if (policies.empty()) return state_.index->use_policy(0, tenant, nullptr);
  for (std::size_t g = 0; g < policies.size(); ++g)
    if (!state_.index->use_policy(g, tenant, policies[g].get())) return false;
  at(tenant).policies = std::move(policies);
  return true;
}

std::optional<TenantId> Tenants::find(std::string_view name) const {
  const auto found = ids_.find(name);
  if (found != ids_.end()) return found->second;
  if (together_ || name.empty()) return TenantId::unnamed;
  return {};
}

TenantId Tenants::of(NamespaceId space) {
  const auto number = static_cast<std::size_t>(space);
  if (number < of_space_.size() && of_space_[number]) return *of_space_[number];
  if (!state_.spaces.knows(space)) return TenantId::unnamed;
  const std::string_view name = state_.spaces.tuple_of(space).tenant;
  const auto known = find(name);
  TenantId tenant = known ? *known : add(name, others_);
  // Without memory for its queue its pages count for the requests without a tenant.
  if (!state_.index->assign(space, tenant)) ++state_.lacked, tenant = TenantId::unnamed;
  if (of_space_.size() <= number) of_space_.resize(number + 1);
  of_space_[number] = tenant;
  return tenant;
}

/// Returns the sum of all floors if a tenant had this share.
std::uint64_t Tenants::floors_with(std::string_view name, const TenantShare& share) const {
  const auto known = ids_.find(name);
  return floors_ - (known == ids_.end() ? 0 : at(known->second).figures.share.floor) + share.floor;
}

std::string Tenants::flaw_of_share(std::string_view name, const TenantShare& share) const {
  if (std::string why = flaw_of(share); !why.empty()) return why;
  const std::uint64_t limit = state_.pools[0].limit(), floors = floors_with(name, share);
  if (limit == kUnlimited) return {};
  const auto has = static_cast<std::uint64_t>(static_cast<double>(limit * state_.page_size) / part_[0]);
  std::uint64_t promised = std::max(share.floor, share.pins);
  for (const Tenant& other : all_)
    if (other.figures.name != name) promised += std::max(other.figures.share.floor, other.figures.share.pins);
  if (promised <= has) return {};
  const char* const where = serves_ ? "pool has" : "host tier is for a pool of";
  return floors > has ? fmt::format("floor = {}: the floors of all tenants would be {} tokens, and the {} {}",
                                    share.floor, grouped(floors), where, grouped(has))
                      : fmt::format("pins = {}: floors and pins of all tenants would promise {} tokens, and the {} {}",
                                    share.pins, grouped(promised), where, grouped(has));
}

bool Tenants::make_room(std::string_view name) {
  try {
    if (ids_.contains(name)) return true;
    reserve();
    Ids one;
    one.emplace(name, TenantId::unnamed);
    spare_ = one.extract(one.begin());
    spare_name_ = name;
  } catch (const std::bad_alloc&) {
    return false;
  }
  return open(all_.size(), {});
}

void Tenants::set_share(std::string_view name, const TenantShare& share) {
  const auto known = ids_.find(name);
  if (known == ids_.end()) {
    const TenantId tenant = add(name, share);
    for (std::size_t i = 0; i < of_space_.size(); ++i) {
      const auto space = static_cast<NamespaceId>(i);
      if (!of_space_[i] || state_.spaces.tuple_of(space).tenant != name) continue;
      if (state_.index->assign(space, tenant)) of_space_[i] = tenant;
      else ++state_.lacked;
    }
  } else {
    Tenant& tenant = at(known->second);
    floors_ = floors_with(name, share);
    tenant.figures.share = share;
    set_units(tenant);
  }
  all_changed();  // if floors promise more than the pool has, all of them depend on their sum
}

std::uint64_t Tenants::held(std::size_t group, TenantId tenant) const {
  const Sizes sizes = state_.index->sizes(group, tenant);
  return sizes.evictable + sizes.protected_;
}

/// Returns the units that a tenant's floor protects now: less than was configured while the pool is smaller than the
/// sum of the floors.
std::uint64_t Tenants::floor(std::size_t group, const Tenant& tenant) const {
  const std::uint64_t limit = state_.pools[group].limit(), floor = tenant.floor[group];
  if (floor == 0 || limit == kUnlimited) return floor;
  const double all = static_cast<double>(floors_) * part_[group],
               has = static_cast<double>(limit * state_.page_size) * (1 - kept_free_);
  return all <= has ? floor : static_cast<std::uint64_t>(static_cast<double>(floor) * has / all);
}

/// Returns the distance of a tenant above its weighted share, in units for a weight of 1; 0 if it has nothing to lose.
double Tenants::above(std::size_t group, TenantId number) const {
  const Tenant& tenant = at(number);
  const Sizes sizes = state_.index->sizes(group, number);
  const std::uint64_t held = sizes.evictable + sizes.protected_, floor = this->floor(group, tenant);
  // Less than a page above the floor is nothing to lose.
  if (sizes.evictable == 0 || held < floor + state_.page_size) return 0;
  return static_cast<double>(held - floor) / tenant.figures.share.weight;
}

/// Returns the part of a tenant's floor that it has; 0 if it has no floor or nothing to lose.
double Tenants::part_of_floor(std::size_t group, TenantId number) const {
  const std::uint64_t floor = at(number).floor[group];
  const Sizes sizes = state_.index->sizes(group, number);
  if (floor == 0 || sizes.evictable == 0) return 0;
  return static_cast<double>(sizes.evictable + sizes.protected_) / static_cast<double>(floor);
}

void Tenants::changed(NamespaceId space) { changed(of(space)); }

void Tenants::changed(TenantId tenant) {
  for (std::size_t g = 0; g < losers_.size(); ++g) {
    losers_[g].set(tenant, above(g, tenant));
    if (floors_ > 0) floored_[g].set(tenant, part_of_floor(g, tenant));
  }
}

void Tenants::all_changed() {
  for (std::size_t i = 0; i < all_.size(); ++i) changed(static_cast<TenantId>(i));
}

namespace {

/// Returns the first tenant of a heap after its figure was brought up to date: locks and evictions since its last
/// change have left it less.
template <class Figure>
std::optional<TenantId> furthest(Losers& losers, const Figure& now) {
  for (auto first = losers.furthest(); first; first = losers.furthest()) {
    losers.set(*first, now(*first));
    if (losers.furthest() == first) return first;
  }
  return {};
}

}  // namespace

std::optional<Tenants::Loser> Tenants::loser(std::size_t group, std::optional<TenantId> taker, std::uint64_t pages) {
  const std::uint64_t page = state_.page_size;
  const auto evictable = [&](TenantId tenant) { return state_.index->sizes(group, tenant).evictable / page; };
  if (taker && evictable(*taker) > 0) {
    const std::uint64_t then = held(group, *taker) + pages * page, ceiling = at(*taker).ceiling[group];
    if (then > ceiling) return Loser{*taker, std::max<std::uint64_t>((then - ceiling) / page, 1)};
  }
  if (const auto above_share = furthest(losers_[group], [&](TenantId tenant) { return above(group, tenant); }))
    return Loser{*above_share, (held(group, *above_share) - floor(group, at(*above_share))) / page};
  if (taker && evictable(*taker) > 0) return Loser{*taker, kUnlimited};
  if (!serves_) return {};
  if (const auto full = furthest(floored_[group], [&](TenantId tenant) { return part_of_floor(group, tenant); }))
    return Loser{*full, pages, true};
  return {};
}

void Tenants::evicted(const Loser& loser, std::optional<TenantId> taker, std::uint64_t pages) {
  const std::uint64_t tokens = pages * state_.page_size;
  TenantUse& from = at(loser.tenant).figures;
  from.evicted += tokens;
  if (loser.floor_gives_way) from.below_floor += tokens;
  if (!taker || *taker == loser.tenant || tokens == 0) return;
  from.paid += tokens;
  at(*taker).figures.taken += tokens;
  const std::pair pair(loser.tenant, *taker);
  if (const auto found = payments_.find(pair); found != payments_.end()) {
    found->second += tokens;
    return;
  }
  try {
    if (payments_.size() < kMostPairs) {
      payments_.emplace(pair, tokens);
      return;
    }
  } catch (const std::bad_alloc&) {  // one of the others
  }
  other_payments_ += tokens;
  at(loser.tenant).unpaired.paid += tokens;
  at(*taker).unpaired.taken += tokens;
}

std::uint64_t Tenants::above_ceiling(std::size_t group, TenantId tenant) const {
  const std::uint64_t held = this->held(group, tenant), ceiling = at(tenant).ceiling[group];
  return held > ceiling ? (held - ceiling + state_.page_size - 1) / state_.page_size : 0;
}

void Tenants::replace_failed_policies() {
  for (std::size_t i = 0; i < all_.size(); ++i)
    for (std::size_t g = 0; g < all_[i].policies.size(); ++g)
      if (all_[i].policies[g]->has_thrown())
        state_.index->use_policy(g, static_cast<TenantId>(i), all_[i].policies[g].get());
}

bool Tenants::reads_prints() const {
  return std::any_of(all_.begin(), all_.end(), [](const Tenant& tenant) {
    return std::any_of(tenant.policies.begin(), tenant.policies.end(),
                       [](const auto& policy) { return policy->reads_prints() != Prints::none; });
  });
}

void Tenants::admitted(NamespaceId space, std::uint32_t prompt, std::uint32_t hit, std::uint64_t refused) {
  TenantUse& figures = at(of(space)).figures;
  ++figures.requests;
  figures.prompt_tokens += prompt;
  figures.hit_tokens += hit;
  figures.refused_pins += refused;
}

std::uint64_t Tenants::may_put(NamespaceId space, std::uint64_t now_us) {
  Tenant& tenant = at(of(space));
  const std::uint64_t budget = tenant.figures.share.puts;
  if (budget == kUnlimited) return kUnlimited;
  constexpr double kMinuteUs = 60e6;
  const double more = static_cast<double>(budget) * static_cast<double>(now_us - tenant.counted_us) / kMinuteUs;
  if (more >= static_cast<double>(budget - std::min(budget, tenant.puts_left))) {
    tenant.puts_left = budget;
    tenant.counted_us = now_us;
  } else if (more >= 1) {
    // The time of a part of a token counts for the next one.
    const auto whole = static_cast<std::uint64_t>(more);
    tenant.puts_left += whole;
    tenant.counted_us +=
        static_cast<std::uint64_t>(static_cast<double>(whole) * kMinuteUs / static_cast<double>(budget));
  }
  return tenant.puts_left;
}

void Tenants::charge_puts(NamespaceId space, std::uint64_t put, std::uint64_t refused) {
  Tenant& tenant = at(of(space));
  if (tenant.figures.share.puts != kUnlimited) tenant.puts_left -= put;
  tenant.figures.refused_puts += refused;
}

std::vector<TenantUse> Tenants::figures() const {
  std::vector<TenantUse> figures;
  for (std::size_t i = 0; i < all_.size(); ++i) {
    figures.push_back(all_[i].figures);
    const Sizes sizes = state_.index->sizes(0, static_cast<TenantId>(i));
    figures.back().cached = sizes.evictable + sizes.protected_;
    figures.back().locked = sizes.protected_;
  }
  return figures;
}

std::vector<TenantPayment> Tenants::payments() const {
  std::vector<TenantPayment> payments;
  for (const auto& [pair, tokens] : payments_)
    payments.push_back({at(pair.first).figures.name, at(pair.second).figures.name, tokens});
  if (other_payments_ > 0) payments.push_back({"*", "*", other_payments_});
  return payments;
}

}  // namespace canopy
