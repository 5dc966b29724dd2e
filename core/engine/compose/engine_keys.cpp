#include "compose/engine_keys.h"

#include <canopy/config/yaml_document.h>
#include <canopy/support/endpoint.h>
#include <canopy/support/figures.h>
#include <canopy/support/printable.h>
#include <fmt/format.h>

namespace canopy {

bool is_group_name(std::string_view name) {
  const auto lower = [](char c) { return c >= 'a' && c <= 'z'; };
  return !name.empty() && lower(name[0]) &&
         std::ranges::all_of(name, [&](char c) { return lower(c) || (c >= '0' && c <= '9') || c == '_'; });
}

std::string flaw_of_every(const GroupConfig& group, Units page_size) {
  if (group.every == 0) return {};
  if (page_size != 0 && group.every % page_size != 0)
    return fmt::format(" = {} is not a multiple of the page size, {}", group.every, page_size);
  if (group.reach == kWholePath) return ": a group that needs the whole path keeps every page; it wants a reach";
  if (page_size != 0 && group.every > page_size && group.reach > page_size)
    return fmt::format(
        " = {} keeps one page in {}, and a reach of {} tokens needs more than the last one: nothing could be reused",
        group.every, group.every / page_size, group.reach);
  return {};
}

std::string flaw_of_max_per_path(const GroupConfig& group) {
  if (group.max_per_path == 0 || group.reach != kWholePath) return {};
  return ": a group that needs the whole path keeps every page; it wants a reach";
}

std::string flaw_of_capacity(const GroupConfig& group, Units page_size) {
  if (page_size == 0 || group.capacity == kUnlimited) return {};
  if (group.capacity < page_size)
    return fmt::format(" = {} does not hold one page of {} tokens", group.capacity, page_size);
  if (group.capacity / page_size > kMaxPages)
    return fmt::format(" = {} is more than {} pages of {} tokens, the most a pool can number", group.capacity,
                       kMaxPages, page_size);
  return {};
}

std::string flaw_of_start(const GroupConfig& group, Units page_size) {
  const bool given = group.start != kUnlimited;
  if (given && group.start > group.capacity)
    return fmt::format(" = {} is more than its capacity, {}", group.start, group.capacity);
  const std::uint64_t start = given ? group.start : group.capacity;
  if (page_size == 0 || start == kUnlimited || start / page_size <= kMaxStartPages) return {};
  constexpr std::uint64_t kPageBytes = 8;  // of an allocator's books and the pool's
  const std::uint64_t pages = start / page_size;
  return fmt::format(
      " = {}: {} pages, whose books alone take {} of memory before the first request; `start: {}` is the most, and the "
      "pool grows to its capacity as it needs",
      given ? std::to_string(start) : fmt::format("the capacity, {}", start), grouped(pages), bytes(pages * kPageBytes),
      kMaxStartPages * page_size);
}

std::string flaw_of_publish(const KvEventsConfig& events) {
  const std::string flaw = flaw_of_endpoint(events.publish);
  return flaw.empty() ? flaw : " = " + flaw;
}

std::string flaw_of_replay(const KvEventsConfig& events) {
  if (events.replay.empty()) return {};
  if (const std::string flaw = flaw_of_endpoint(events.replay); !flaw.empty()) return " = " + flaw;
  const bool any_port = events.replay.ends_with(":*") || events.replay.ends_with(":0");
  if (events.replay == events.publish && !any_port)
    return fmt::format(" = {} is where the events are published; expected another endpoint", in_quotes(events.replay));
  return {};
}

std::string flaw_of_topic(const KvEventsConfig& events) {
  constexpr std::size_t kMost = 256;
  if (events.topic.size() > kMost) return fmt::format(" has {} bytes; expected at most {}", events.topic.size(), kMost);
  for (std::size_t at = 0, length = 0; at < events.topic.size(); at += length)
    if (length = utf8_length(std::string_view(events.topic).substr(at)); length == 0)
      return fmt::format(" = {} is no UTF-8", in_quotes(events.topic));
  return {};
}

std::uint64_t host_tier_pages(const EngineConfig& engine, std::size_t group) {
  const std::uint64_t first = engine.host_tier.capacity / engine.page_size;
  if (group == 0) return first;
  const auto pool = [&](std::size_t g) { return engine.groups[g].capacity / engine.page_size; };  // below 2^32
  return std::clamp<std::uint64_t>(first * pool(group) / pool(0), 1, kMaxPages);
}

std::string flaw_of_tier(const EngineConfig& engine) {
  if (engine.page_size == 0) return {};
  GroupConfig first;
  first.capacity = engine.host_tier.capacity;
  if (std::string flaw = flaw_of_capacity(first, engine.page_size); !flaw.empty()) return flaw;
  for (const GroupConfig& group : engine.groups)
    if (group.capacity == kUnlimited)
      return fmt::format(": the pool of group {} is unlimited, so nothing ever leaves it for a tier below",
                         in_quotes(group.name));
  return {};
}

std::string flaw_of_storage(const EngineConfig& engine) {
  if (engine.storage_tier.in.name.empty()) return {};
  if (engine.host_tier.capacity == 0)
    return ": its pages come and go through a tier of the host; expected tiers.host beside it";
  if (engine.model.name.empty() || engine.model.revision.empty() || engine.model.dtype.empty())
    return ": a storage keeps the bytes of each model apart, by its name, revision and dtype; expected `model: { name: "
           "..., revision: ..., dtype: ... }`";
  for (const GroupConfig& group : engine.groups)
    if (group.reach != kWholePath)
      return fmt::format(": the group {} keeps a part of each path, and a storage takes groups of whole paths alone",
                         in_quotes(group.name));
  return {};
}

std::string flaw_of_rank(const ModelConfig& model) {
  if (model.rank < model.ranks) return {};
  return fmt::format(" = {}, and there are {}: the last one is {}", model.rank, model.ranks, model.ranks - 1);
}

}  // namespace canopy
