#include "tiers/storage_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

namespace canopy {

StorageCalls::StorageCalls(std::vector<std::unique_ptr<StorageGuard>> storages, LaneConfig lane, Ledger& ledger,
                           StorageBoard& board, bool puts)
    : storages_(std::move(storages)),
      lane_(lane),
      find_lane_({0, lane.latency}),
      get_lane_(lane),
      put_lane_(lane),
      ledger_(ledger),
      board_(board),
      puts_(puts) {}

std::uint64_t StorageCalls::begin(StorageCall::Kind kind, std::size_t group, std::uint64_t job, std::size_t first,
                                  std::size_t records, Lane& lane, std::uint64_t now_us, std::uint64_t bytes) {
  auto made = std::make_unique<StorageCall>();
  made->kind = kind;
  made->group = group;
  made->ticket = ++tickets_;
  made->job = job;
  made->first = first;
  made->records = static_cast<std::uint32_t>(records);
  made->ends_us = simulated() ? lane.begin(now_us, bytes) : now_us;
  made->began_us = now_us;
  made->bytes = bytes;
  if (is_call(kind)) board_.lane(kind).begun(now_us, bytes);
  const std::uint64_t ends_us = made->ends_us;
  // Behind all that end as early.
  const auto later = [](std::uint64_t end, const auto& other) { return end < other->ends_us; };
  calls_.insert(simulated() ? std::upper_bound(calls_.begin(), calls_.end(), ends_us, later) : calls_.end(),
                std::move(made));
  return ends_us;
}

std::uint64_t StorageCalls::find(std::size_t group, std::uint64_t job, const PageKey& space,
                                 std::span<const PageKey> keys, std::uint64_t within_us, std::uint64_t now_us) {
  const std::uint64_t end = begin(StorageCall::Kind::find, group, job, 0, keys.size(), find_lane_, now_us, 0);
  storages_[group]->find(tickets_, space, keys, within_us);
  return end;
}

std::uint64_t StorageCalls::get(std::size_t group, std::uint64_t job, std::size_t first, const PageKey& space,
                                std::span<const PageKey> keys, std::span<std::byte* const> records, std::uint64_t bytes,
                                std::uint64_t within_us, std::uint64_t now_us) {
  const std::uint64_t end = begin(StorageCall::Kind::get, group, job, first, keys.size(), get_lane_, now_us, bytes);
  storages_[group]->get(tickets_, space, keys, records, within_us);
  return end;
}

std::uint64_t StorageCalls::put(std::size_t group, std::uint64_t job, std::size_t first, const PageKey& space,
                                std::span<const PageKey> keys, std::span<const std::byte* const> records,
                                std::uint64_t bytes, std::uint64_t within_us, std::uint32_t keep_s,
                                std::uint64_t now_us) {
  const std::uint64_t end = begin(StorageCall::Kind::put, group, job, first, keys.size(), put_lane_, now_us, bytes);
  if (puts_) {
    storages_[group]->put(tickets_, space, keys, records, within_us, keep_s);
  } else {
    StorageCall& call = **std::ranges::find(calls_, tickets_, &StorageCall::ticket);
    call.ended = true;
    call.fate = Fate::done;
    call.fates.assign(keys.size(), Fate::done);
  }
  return end;
}

/// Takes in what the storages tell. What they tell is theirs until they are called again: it is copied.
void StorageCalls::poll() {
  StorageDone done[64];
  for (auto& storage : storages_)
    for (std::size_t told = std::size(done); told == std::size(done);) {
      told = storage->poll(done);
      for (const StorageDone& one : std::span(done).first(told)) {
        const auto call = std::ranges::find(calls_, one.ticket, &StorageCall::ticket);
        if (call == calls_.end()) continue;  // of a call that was given up
        (*call)->ended = true;
        (*call)->fate = one.fate;
        (*call)->found = one.found;
        (*call)->fates.assign(one.fates.begin(), one.fates.end());
      }
    }
}

/// What a storage needs longer than its lane decides nothing, unless it does not come to an end at all.
void StorageCalls::wait_for(StorageCall& call) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::seconds kMost{60};
  constexpr std::chrono::microseconds kNap{50};
  constexpr int kPolls = 16;  // before it naps
  const auto start = Clock::now();
  for (int polls = 0; !call.ended; ++polls) {
    poll();
    if (call.ended || polls % kPolls != kPolls - 1) continue;
    if (gone_ || Clock::now() - start > kMost) break;
    std::this_thread::sleep_for(kNap);
  }
  if (call.ended) return;
  call.lost = true;
  if (!std::exchange(gone_, true))
    ledger_.violated(fmt::format("{}: call {} did not end within {} s", storages_[call.group]->component(), call.ticket,
                                 kMost.count()));
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

std::vector<std::unique_ptr<StorageCall>> StorageCalls::take(const TurnBoard& board) {
  std::vector<std::unique_ptr<StorageCall>> taken;
  event::StorageRanks& ranks = board_.ranks ? *board_.ranks : board_.ranks.emplace();
  ranks.awaited = 0;
  each_on_board([&](std::unique_ptr<StorageCall>& call, std::size_t lane, std::size_t slot) {
    const CallEnd end = board.agreed(lane, slot);
    if (end.how == CallEnd::How::open) {
      ranks.awaited += call->end.has_value();
      return;
    }
    ranks.worse += end.how < call->end->how || end.count < call->end->count;
    call->end = end;
    show_end(*call, simulated() ? call->ends_us : board.now_us());
    taken.push_back(std::move(call));
  });
  std::erase(calls_, nullptr);
  return taken;
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
  StorageBoard::Lane& lane = board_.lane(call.kind);
  const auto count = [&](Fate fate) { ++lane.fates[static_cast<std::size_t>(fate)]; };
  for (const Fate fate : call.fates) count(fate);
  if (call.kind == StorageCall::Kind::find && !call.lost)
    count(call.fate == Fate::done && call.found == 0 ? Fate::absent : call.fate);
  const auto done = static_cast<std::uint64_t>(std::ranges::count(call.fates, Fate::done));
  lane.ended(call.began_us, now_us, call.bytes, done == 0 ? 0 : call.bytes / call.fates.size() * done);
}

std::uint64_t StorageCalls::next_us() const {
  return simulated() && !calls_.empty() ? calls_.front()->ends_us : kUnlimited;
}

}  // namespace canopy
