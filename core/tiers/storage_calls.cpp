// `calls_` has each pending call once: in simulated time in the order of the ends, in real time in the order of the
// starts. A call leaves it once, with one end. A call that no storage carries out or ends gets its end here.

#include "storage_calls.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include <cache/guard/sentence.h>

namespace canopy {

StorageCalls::StorageCalls(std::vector<std::unique_ptr<StoragePort>> storages, LaneConfig lane, CacheState& device,
                           bool puts)
    : storages_(std::move(storages)),
      lane_(lane),
      find_lane_({0, lane.latency_us}),
      get_lane_(lane),
      put_lane_(lane),
      device_(device),
      puts_(puts) {}

/// Adds a call to the pending ones. If it throws, nothing has changed.
StorageCall& StorageCalls::begin(StorageCall::Kind kind, std::size_t group, std::uint64_t job, std::size_t first,
                                 std::size_t records, Lane& lane, std::uint64_t now_us, std::uint64_t bytes) {
  auto made = std::make_unique<StorageCall>();
  made->kind = kind;
  made->group = group;
  made->ticket = tickets_ + 1;
  made->job = job;
  made->first = first;
  made->records = static_cast<std::uint32_t>(records);
  made->ends_us = simulated() ? lane.ends_us(now_us, bytes) : now_us;
  made->began_us = now_us;
  made->bytes = bytes;
  made->fates.reserve(records);
  StorageCall& call = *made;
  // After all calls that end at the same time.
  const auto later = [](std::uint64_t end, const auto& other) { return end < other->ends_us; };
  calls_.insert(simulated() ? std::upper_bound(calls_.begin(), calls_.end(), call.ends_us, later) : calls_.end(),
                std::move(made));
  // From here on nothing throws.
  ++tickets_;
  if (simulated()) lane.begin(now_us, bytes);
  if (is_call(kind)) {
    if (device_.tiers.at(Counter::pending_calls_storage, kind)++ == 0) device_.board.speed(kind).begun(now_us);
    device_.tiers.at(Counter::pending_bytes_storage, kind) += bytes;
  }
  return call;
}

/// Ends a call for which its storage has no memory.
void StorageCalls::lack(StorageCall& call) {
  ++device_.lacked;
  end(call, Fate::failed);
}

/// Ends a call that no storage carries out.
void StorageCalls::end(StorageCall& call, Fate fate) {
  call.ended = true;
  call.fate = fate;
  call.fates.assign(call.records, fate);
}

std::uint64_t StorageCalls::find(std::size_t group, std::uint64_t job, const PageKey& space,
                                 std::span<const PageKey> keys, std::uint64_t within_us, std::uint64_t now_us) {
  StorageCall& call = begin(StorageCall::Kind::find, group, job, 0, keys.size(), find_lane_, now_us, 0);
  if (!storages_[group]->find(call.ticket, space, keys, within_us)) lack(call);
  return call.ends_us;
}

std::uint64_t StorageCalls::find_each(std::size_t group, std::uint64_t job, const PageKey& space,
                                      std::span<const PageKey> keys, std::uint64_t within_us, std::uint64_t now_us) {
  StorageCall& call = begin(StorageCall::Kind::find, group, job, 0, keys.size(), find_lane_, now_us, 0);
  if (!storages_[group]->find_each(call.ticket, space, keys, within_us)) lack(call);
  return call.ends_us;
}

std::uint64_t StorageCalls::get(std::size_t group, std::uint64_t job, std::size_t first, const PageKey& space,
                                std::span<const PageKey> keys, std::span<std::byte* const> records, std::uint64_t bytes,
                                std::uint64_t within_us, std::uint64_t now_us) {
  StorageCall& call = begin(StorageCall::Kind::get, group, job, first, keys.size(), get_lane_, now_us, bytes);
  if (!storages_[group]->get(call.ticket, space, keys, records, within_us)) lack(call);
  return call.ends_us;
}

std::uint64_t StorageCalls::put(std::size_t group, std::uint64_t job, std::size_t first, const PageKey& space,
                                std::span<const PageKey> keys, std::span<const std::byte* const> records,
                                std::uint64_t bytes, std::uint64_t within_us, std::uint64_t now_us) {
  StorageCall& call = begin(StorageCall::Kind::put, group, job, first, keys.size(), put_lane_, now_us, bytes);
  if (!puts_) end(call, Fate::done);
  else if (!storages_[group]->put(call.ticket, space, keys, records, within_us, 0)) lack(call);
  return call.ends_us;
}

/// Takes results from the storages. They are copied, since they are valid only until the next call.
void StorageCalls::poll() {
  StorageDone done[64];
  for (auto& storage : storages_)
    for (std::size_t count = std::size(done); count == std::size(done);) {
      count = storage->poll(done);
      for (const StorageDone& one : std::span(done).first(count)) {
        const auto call = std::ranges::find(calls_, one.ticket, &StorageCall::ticket);
        if (call == calls_.end()) continue;  // a call that was abandoned
        (*call)->ended = true;
        (*call)->fate = one.fate;
        (*call)->found = one.found;
        (*call)->fates.assign(one.fates.begin(), one.fates.end());
      }
    }
  const auto broken = std::ranges::find_if(storages_, [](const auto& storage) { return storage->is_broken(); });
  if (gone_ || broken == storages_.end()) return;
  device_.note(Sentence("{} cannot say which of its calls have ended, and is no longer called", (*broken)->name()));
  abandon();
}

/// Waits for a storage that is slower than its lane. The additional time changes no decision, unless the call never
/// ends.
void StorageCalls::wait_for(StorageCall& call) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::seconds kMost{20};
  constexpr std::chrono::microseconds kNap{50};
  constexpr int kPolls = 16;  // polls before each sleep
  const auto start = Clock::now();
  for (int polls = 0; !call.ended; ++polls) {
    poll();
    if (call.ended || polls % kPolls != kPolls - 1) continue;
    if (gone_ || Clock::now() - start > kMost) break;
    std::this_thread::sleep_for(kNap);
  }
  if (call.ended) return;
  call.ended = call.lost = true;
  if (!std::exchange(gone_, true))
    device_.ledger.violated(
        Sentence("{}: call {} did not end within {} s", storages_[call.group]->name(), call.ticket, kMost.count()));
}

void StorageCalls::abandon() {
  gone_ = true;
  for (const auto& call : calls_) {
    call->ended = call->lost = true;
    call->end = CallEnd{CallEnd::How::lost};
  }
}

void StorageCalls::take_in(std::uint64_t now_us) {
  if (!simulated()) return poll();
  each_on_board([&](std::unique_ptr<StorageCall>& call, std::size_t, std::size_t) {
    if (call->ends_us <= now_us) wait_for(*call);
  });
}

void StorageCalls::agree(const TurnBoard& board) {
  device_.board.health.ranks = std::max(device_.board.health.ranks, RanksState::together);
  std::uint64_t& awaited = device_.tiers[Counter::awaited_calls_storage] = 0;
  each_on_board([&](std::unique_ptr<StorageCall>& call, std::size_t lane, std::size_t slot) {
    const CallEnd end = board.agreed(lane, slot);
    if (end.how == CallEnd::How::open) {
      awaited += call->end.has_value();
      return;
    }
    device_.tiers[Counter::worse_calls_storage] += end.how < call->end->how || end.count < call->end->count;
    call->end = end;
    call->agreed = true;
    show_end(*call, simulated() ? call->ends_us : board.now_us());
  });
}

std::unique_ptr<StorageCall> StorageCalls::next_agreed() {
  const auto at = std::ranges::find(calls_, true, &StorageCall::agreed);
  if (at == calls_.end()) return nullptr;
  auto call = std::move(*at);
  calls_.erase(at);
  return call;
}

std::unique_ptr<StorageCall> StorageCalls::next(std::uint64_t now_us) {
  if (calls_.empty()) return nullptr;
  auto at = calls_.begin();
  if (simulated()) {
    if ((*at)->ends_us > now_us) return nullptr;
    wait_for(**at);
  } else {
    poll();
    at = std::ranges::find(calls_, true, &StorageCall::ended);
    if (at == calls_.end()) return nullptr;
  }
  auto call = std::move(*at);
  calls_.erase(at);
  show_end(*call, simulated() ? call->ends_us : now_us);
  return call;
}

void StorageCalls::show_end(const StorageCall& call, std::uint64_t now_us) {
  if (!is_call(call.kind)) return;
  const auto count = [&](Fate fate) { ++device_.tiers.at(Counter::records_storage, call.kind, fate); };
  const auto done = static_cast<std::uint64_t>(std::ranges::count(call.fates, Fate::done));
  if (call.kind != StorageCall::Kind::find) {
    for (const Fate fate : call.fates) count(fate);
  } else if (!call.lost) {
    const bool nothing = call.fate == Fate::done && call.found == 0;
    count(done > 0 ? Fate::done : nothing ? Fate::absent : call.fate);
  }
  const std::uint64_t arrived = done == 0 ? 0 : call.bytes / call.fates.size() * done;
  --device_.tiers.at(Counter::pending_calls_storage, call.kind);
  device_.tiers.at(Counter::pending_bytes_storage, call.kind) -= call.bytes;
  ++device_.tiers.at(Counter::calls_storage, call.kind);
  device_.tiers.at(Counter::moved_bytes_storage, call.kind) += arrived;
  device_.board.speed(call.kind).ended(call.began_us, now_us, arrived);
}

std::uint64_t StorageCalls::next_us() const {
  return simulated() && !calls_.empty() ? calls_.front()->ends_us : kUnlimited;
}

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
      breaker(config.distrust_us),
      whole_paths_only_(std::ranges::all_of(state.groups, [](const auto& one) { return one.reach == kWholePath; })) {
  if (config.find_limit_us == 0) config.find_limit_us = std::max<std::uint64_t>(config.call_limit_us / 100, 1);
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
