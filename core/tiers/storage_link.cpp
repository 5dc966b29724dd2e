#include "storage_link.h"

#include <algorithm>
#include <utility>

namespace canopy {
namespace {

std::vector<std::unique_ptr<StoragePort>> storages_of(std::vector<StorageLink::Place>& places) {
  std::vector<std::unique_ptr<StoragePort>> storages;
  for (StorageLink::Place& place : places) storages.push_back(std::move(place.storage));
  return storages;
}

}  // namespace

StorageLink::StorageLink(CacheState& device_state, HostTier& host_tier, const Plan& plan, std::vector<Place> places)
    : device(device_state),
      host(host_tier),
      state(host.state()),
      config(plan.config),
      calls(storages_of(places), config.lane, device, plan.puts),
      keys(plan.shared, device.page_size, device.overlap),
      breaker(config.trust_again),
      whole_paths_only_(std::ranges::all_of(state.groups, [](const auto& one) { return one.reach == kWholePath; })) {
  if (config.find_within == 0) config.find_within = std::max<std::uint64_t>(config.within / 100, 1);
  for (const Place& place : places) prints_.push_back(place.fingerprint);
  for (std::size_t g = 0; g < groups(); ++g) host.images(g).use(calls.storage(g));
  space_key(NamespaceId::shared);
}

const PageKey& StorageLink::space_key(NamespaceId space) {
  for (std::size_t next = space_keys_.size(); next <= static_cast<std::size_t>(space); ++next)
    space_keys_.push_back(keys.space(device.spaces.tuple_of(static_cast<NamespaceId>(next))));
  return space_keys_[static_cast<std::size_t>(space)];
}

RecordFacts StorageLink::facts_of(std::size_t page, std::size_t group, std::span<const std::uint32_t> words) const {
  return {keys.key(page, group),
          keys.parent(page, group),
          prints_[group],
          static_cast<std::uint32_t>(group),
          depth(page),
          words.subspan(depth(page), state.page_size + state.overlap),
          host.images(group).image_bytes()};
}

std::uint64_t StorageLink::lane_bytes(std::size_t group, std::size_t records) const {
  const std::uint64_t header = record_bytes(group) - host.images(group).image_bytes();
  return records * header + host.lane_bytes(group, records);
}

void StorageLink::account(const CallEnd& end) {
  const bool badly = end.how == CallEnd::How::lost || end.how == CallEnd::How::late || end.how == CallEnd::How::failed;
  if (badly) breaker.failed(now_us);
  else breaker.served(now_us);
}

void StorageLink::account_late(std::size_t calls_late) {
  for (std::size_t i = 0; i < calls_late; ++i) breaker.failed(now_us);
}

}  // namespace canopy
