#include "storage_tier.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace canopy {
namespace {

constexpr std::uint64_t kSecond = 1'000'000;
/// Real time: microseconds until the next check for ended calls.
constexpr std::uint64_t kAskAgain = 100;
/// A call this late (in microseconds) is considered lost.
constexpr std::uint64_t kOverdue = 30 * kSecond;

std::vector<std::unique_ptr<StoragePort>> storages_of(std::vector<StorageTier::Place>& places) {
  std::vector<std::unique_ptr<StoragePort>> storages;
  for (StorageTier::Place& place : places) storages.push_back(std::move(place.storage));
  return storages;
}

}  // namespace

StorageTier::StorageTier(EngineState& device, HostTier& host, const CostModel& costs, const Plan& plan,
                         std::vector<Place> places, FeedWriter* feed)
    : device_(device),
      host_(host),
      state_(host.state()),
      config_(plan.config),
      costs_(costs),
      puts_here_(plan.puts),
      feed_(feed),
      calls_(storages_of(places), config_.lane, device, plan.puts),
      keys_(plan.shared, device.page_size, device.overlap),
      breaker_(config_.trust_again),
      departures_(device.pools.size()) {
  if (config_.find_within == 0) config_.find_within = std::max<std::uint64_t>(config_.within / 100, 1);
  for (const Place& place : places) prints_.push_back(place.fingerprint);
  for (std::size_t g = 0; g < calls_.groups(); ++g) host_.images(g).use(calls_.storage(g));
}

StorageTier::~StorageTier() = default;

const PageKey& StorageTier::space_key(NamespaceId space) {
  for (std::size_t next = space_keys_.size(); next <= static_cast<std::size_t>(space); ++next)
    space_keys_.push_back(keys_.space(device_.spaces.tuple_of(static_cast<NamespaceId>(next))));
  return space_keys_[static_cast<std::size_t>(space)];
}

/// Returns the facts of a page on the path that the keys follow.
RecordFacts StorageTier::facts_of(std::size_t page, std::size_t group, std::span<const std::uint32_t> words) {
  const Units begin = static_cast<Units>(page) * state_.page_size;
  return {keys_.key(page, group),
          keys_.parent(page, group),
          prints_[group],
          static_cast<std::uint32_t>(group),
          begin,
          words.subspan(begin, state_.page_size + state_.overlap),
          host_.images(group).image_bytes()};
}

void StorageTier::turn(std::uint64_t now_us, const TurnBoard* agreed) {
  now_us_ = std::max(now_us_, now_us);
  if (agreed) {
    for (const auto& call : calls_.take(*agreed)) ended(*call, *call->end);
  } else {
    end_calls();
  }
  arrive_late();
  if (in_real_time()) {
    give_up_what_is_late();
    give_up_the_storage();
  }
  device_.tiers[Counter::breaks_storage] = breaker_.opened();
  show_breaker();
}

std::uint64_t StorageTier::next_us() const { return in_real_time() ? now_us_ + kAskAgain : calls_.next_us(); }

/// Processes the calls that have ended here.
void StorageTier::end_calls() {
  while (const auto call = calls_.next(now_us_)) ended(*call, call->end ? *call->end : end_of(*call));
}

void StorageTier::offer(TurnBoard& board, std::uint64_t now_us) {
  calls_.offer(board, std::max(now_us_, now_us), [&](const StorageCall& call) { return end_of(call); });
}

void StorageTier::stop() {
  breaker_.open_for_ever();
  for (const auto& bring : brings_)
    if (!bring->over) {
      if (bring->open == 0 && !bring->lost) free_pages(*bring, 0);
      close(*bring, BringOutcome::failed);
    }
}

/// Returns the result of a call on this rank.
CallEnd StorageTier::end_of(const StorageCall& call) {
  if (call.lost) return {CallEnd::How::lost};
  CallEnd end{CallEnd::how_of(call.fate)};
  if (call.kind == StorageCall::Kind::find) {
    end.count = call.fate == Fate::done ? call.found : 0;
  } else if (call.kind == StorageCall::Kind::put) {
    end.count = static_cast<std::uint32_t>(std::ranges::count(call.fates, Fate::done));
  } else {
    Bring& bring = **std::ranges::find(brings_, call.job, [](const auto& one) { return one->job; });
    if (!bring.over) end = check(bring, call);
  }
  return end;
}

void StorageTier::ended(const StorageCall& call, const CallEnd& end) {
  const bool lost = end.how == CallEnd::How::lost;
  if (lost) breaker_.open_for_ever();
  if (call.kind == StorageCall::Kind::put) {
    const auto at = std::ranges::find(puts_, call.job, [](const auto& put) { return put->job; });
    put_ended(**at, call, end);
    if ((*at)->open == 0 && !(*at)->lost) puts_.erase(at);
    return;
  }
  Bring& bring = **std::ranges::find(brings_, call.job, [](const auto& one) { return one->job; });
  if (!bring.over) account(end);
  bring.lost |= lost;
  --bring.open;
  if (call.kind == StorageCall::Kind::find) found(bring, end);
  else got(bring, call, end);
  if (bring.open > 0) return;
  if (!bring.gets && !bring.over) get(bring);
  else if (bring.gets) arrive(bring);
}

/// Completes brings that waited for the prefix before their records, and removes those that are over.
void StorageTier::arrive_late() {
  for (const auto& bring : brings_)
    if (bring->gets && bring->open == 0 && !bring->over) arrive(*bring);
  std::erase_if(brings_, [](const auto& bring) { return bring->over && bring->open == 0 && !bring->lost; });
}

/// Reports the end of a call to the breaker.
void StorageTier::account(const CallEnd& end) {
  const bool badly = end.how == CallEnd::How::lost || end.how == CallEnd::How::late || end.how == CallEnd::How::failed;
  if (badly) breaker_.failed(now_us_);
  else breaker_.served(now_us_);
}

/// Abandons late calls by the engine's own clock, in real time. Their memory stays with the storage until they end.
void StorageTier::give_up_what_is_late() {
  for (const auto& bring : brings_)
    if (!bring->over && bring->open > 0 && now_us_ >= bring->late_us) {
      for (std::size_t i = 0; i < bring->open; ++i) breaker_.failed(now_us_);
      close(*bring, BringOutcome::late);
    }
  for (const auto& put : puts_)
    if (!put->late && now_us_ >= put->late_us) {
      for (std::size_t i = 0; i < put->open; ++i) breaker_.failed(now_us_);
      put->late = true;
    }
}

/// Stops using a storage that has not ended a call long after its time limit. The memory of the call stays with the
/// storage.
void StorageTier::give_up_the_storage() {
  const auto overdue = [&](const auto& job) { return job->open > 0 && now_us_ >= job->late_us + kOverdue; };
  if (std::ranges::none_of(brings_, overdue) && std::ranges::none_of(puts_, overdue)) return;
  device_.notes.push_back(fmt::format("{} did not end a call {} s after its time, and is not called any more",
                                      calls_.storage(0).name(), kOverdue / kSecond));
  calls_.abandon();
  end_calls();
}

void StorageTier::left() { device_.tiers[Counter::dropped_tokens_storage] += std::exchange(dropped_.tokens, 0); }

void StorageTier::flushed(NamespaceId space) {
  for (const auto& bring : brings_) bring->unwanted |= bring->space == space;
  for (const auto& put : puts_) put->unwanted |= put->space == space;
  bool all = true;
  for (std::size_t g = 0; g < calls_.groups(); ++g)
    all &= calls_.storage(g).call("flush", &PageStorage::flush, space_key(space));
  if (!all)
    device_.notes.push_back(
        fmt::format("namespace '{}' was flushed while its storage was out of reach: its records are not found again by "
                    "this process, and another one may find them",
                    device_.spaces.name_of(space)));
}

void StorageTier::add_moving(std::array<std::vector<Page>, kMaxGroups>& pages) const {
  for (std::size_t g = 0; g < state_.pools.size(); ++g) {
    for (const auto& bring : brings_) pages[g].insert(pages[g].end(), bring->pages[g].begin(), bring->pages[g].end());
    for (const auto& put : puts_)
      if (put->lock.length == 0) pages[g].insert(pages[g].end(), put->pages[g].begin(), put->pages[g].end());
  }
}

}  // namespace canopy
