#include "engine_flaws.h"

#include <canopy/base/endpoint.h>
#include <canopy/base/figures.h>
#include <canopy/base/printable.h>
#include <fmt/format.h>

#include <algorithm>

#include <cache/tenants/tenants.h>

namespace canopy {
namespace {

std::string flaw_of_capacity(std::uint64_t capacity, Units page_size) {
  if (page_size == 0 || capacity == kUnlimited) return {};
  if (capacity < page_size)
    return fmt::format("capacity = {} does not hold one page of {} tokens", capacity, page_size);
  if (capacity / page_size > kMaxPages)
    return fmt::format("capacity = {} is more than {} pages of {} tokens, the most a pool can number", capacity,
                       kMaxPages, page_size);
  return {};
}

std::string flaw_of_start(const GroupConfig& group, Units page_size) {
  const bool given = group.start != kUnlimited;
  if (given && group.start > group.capacity)
    return fmt::format("start = {} is more than its capacity, {}", group.start, group.capacity);
  const std::uint64_t start = given ? group.start : group.capacity;
  if (page_size == 0 || start == kUnlimited || start / page_size <= kMaxStartPages) return {};
  constexpr std::uint64_t kPageBytes = 8;  // bookkeeping of an allocator and the pool
  const std::uint64_t pages = start / page_size;
  return fmt::format(
      "start = {}: {} pages, whose books alone take {} of memory before the first request; `start: {}` is the most, "
      "and "
      "the pool grows to its capacity as it needs",
      given ? std::to_string(start) : fmt::format("the capacity, {}", start), grouped(pages), bytes(pages * kPageBytes),
      kMaxStartPages * page_size);
}

}  // namespace

bool is_group_name(std::string_view name) {
  const auto lower = [](char c) { return c >= 'a' && c <= 'z'; };
  return !name.empty() && lower(name[0]) &&
         std::ranges::all_of(name, [&](char c) { return lower(c) || (c >= '0' && c <= '9') || c == '_'; });
}

std::string flaw(const GroupConfig& group, Units page_size) {
  const bool some = group.every != 0, sized = page_size != 0, whole = group.reach == kWholePath;
  if (some && sized && group.every % page_size != 0)
    return fmt::format("every = {} is not a multiple of the page size, {}", group.every, page_size);
  if (some && whole) return "every: a group that needs the whole path keeps every page; it wants a reach";
  if (some && sized && group.every > page_size && group.reach > page_size)
    return fmt::format(
        "every = {} keeps one page in {}, and a reach of {} tokens needs more than the last one: nothing could be "
        "reused",
        group.every, group.every / page_size, group.reach);
  if (std::string why = flaw_of_capacity(group.capacity, page_size); !why.empty()) return why;
  if (std::string why = flaw_of_start(group, page_size); !why.empty()) return why;
  if (group.max_per_path != 0 && whole)
    return "max_per_path: a group that needs the whole path keeps every page; it wants a reach";
  return {};
}

std::string flaw(const KVEventsConfig& events) {
  constexpr std::size_t kMost = 256;
  if (const std::string why = flaw_of_endpoint(events.publish); !why.empty()) return "publish = " + why;
  if (const std::string why = events.replay.empty() ? "" : flaw_of_endpoint(events.replay); !why.empty())
    return "replay = " + why;
  const bool any_port = events.replay.ends_with(":*") || events.replay.ends_with(":0");
  if (events.replay == events.publish && !any_port)
    return fmt::format("replay = {} is where the events are published; expected another endpoint",
                       in_quotes(events.replay));
  if (events.topic.size() > kMost)
    return fmt::format("topic has {} bytes; expected at most {}", events.topic.size(), kMost);
  for (std::size_t at = 0, length = 0; at < events.topic.size(); at += length)
    if (length = utf8_length(std::string_view(events.topic).substr(at)); length == 0)
      return fmt::format("topic = {} is no UTF-8", in_quotes(events.topic));
  return {};
}

std::string flaw(const ModelConfig& model) {
  if (model.rank < model.ranks) return {};
  return fmt::format("rank = {}, and there are {}: the last one is {}", model.rank, model.ranks, model.ranks - 1);
}

std::string flaw_of_groups(const EngineConfig& engine) {
  const auto& groups = engine.groups;
  if (groups.empty() || groups.size() > kMaxGroups)
    return fmt::format("groups are {}; an engine has 1 to {}", groups.size(), kMaxGroups);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (!is_group_name(groups[i].name))
      return fmt::format("groups: {} cannot name a group; expected {}", in_quotes(groups[i].name), kGroupNames);
    for (std::size_t j = 0; j < i; ++j)
      if (groups[j].name == groups[i].name) return fmt::format("groups: {} is there twice", in_quotes(groups[i].name));
  }
  return {};
}

std::string flaw_of_tenants(const EngineConfig& engine) {
  std::uint64_t promised = 0;
  for (std::size_t i = 0; i < engine.tenants.size(); ++i) {
    const TenantConfig& tenant = engine.tenants[i];
    const std::string name = in_quotes(tenant.name);
    for (std::size_t j = 0; j < i; ++j)
      if (engine.tenants[j].name == tenant.name) return fmt::format("tenants: {} is there twice", name);
    if (tenant.name.empty())
      return "tenants: \"\" cannot name a tenant; expected its name, or \"*\" for every other one";
    if (std::string why = flaw_of(tenant.share); !why.empty()) return fmt::format("tenants.{}: {}", name, why);
    const bool others = tenant.name == "*";
    if (tenant.together && !others) return fmt::format("tenants.{}: together is for \"*\", every other tenant", name);
    if (others && !tenant.together) {
      const char* const key = tenant.share.floor             ? "floor"
                              : tenant.share.pins            ? "pins"
                              : tenant.eviction.name.empty() ? nullptr
                                                             : "eviction";
      if (key)
        return fmt::format(
            "tenants.\"*\": no {} can be given to each of the other tenants, whose number is not known; "
            "expected `together: true` beside it, or a tenant's name",
            key);
    }
    if (__builtin_add_overflow(promised, std::max(tenant.share.floor, tenant.share.pins), &promised))
      return "tenants: floors and pins promise more tokens than 64 bits can count";
  }
  if (engine.groups.empty() || promised <= engine.groups[0].capacity) return {};
  return fmt::format("tenants: floors and pins promise {} tokens, and the pool of group {} has {}", grouped(promised),
                     in_quotes(engine.groups[0].name), grouped(engine.groups[0].capacity));
}

std::string flaw_of_tiers(const EngineConfig& engine) {
  if (engine.host_tier.capacity > 0 || engine.prefetch == PrefetchConfig{}) return {};
  return "prefetch is about fetches from tiers, and there is none; expected tiers.host beside it";
}

std::string flaw_of_host_tier(const EngineConfig& engine) {
  if (engine.page_size == 0) return {};
  if (std::string why = flaw_of_capacity(engine.host_tier.capacity, engine.page_size); !why.empty()) return why;
  for (const GroupConfig& group : engine.groups)
    if (group.capacity == kUnlimited)
      return fmt::format("capacity: the pool of group {} is unlimited, so nothing ever leaves it for a tier below",
                         in_quotes(group.name));
  return {};
}

std::string flaw_of_storage(const EngineConfig& engine) {
  if (engine.storage_tier.in.name.empty()) return {};
#ifdef CANOPY_NO_STORAGE
  return "in: this Canopy was built without storages (CANOPY_STORAGE=OFF)";
#endif
  if (engine.host_tier.capacity == 0)
    return "in: its pages come and go through a tier of the host; expected tiers.host beside it";
  if (engine.model.name.empty() || engine.model.revision.empty() || engine.model.dtype.empty())
    return "in: a storage keeps the bytes of each model apart, by its name, revision and dtype; expected `model: { "
           "name: "
           "..., revision: ..., dtype: ... }`";
  return {};
}

std::uint64_t host_tier_pages(const EngineConfig& engine, std::size_t group) {
  const std::uint64_t first = engine.host_tier.capacity / engine.page_size;
  if (group == 0) return first;
  const auto pool = [&](std::size_t g) { return engine.groups[g].capacity / engine.page_size; };  // below 2^32
  return std::clamp<std::uint64_t>(first * pool(group) / pool(0), 1, kMaxPages);
}

}  // namespace canopy
