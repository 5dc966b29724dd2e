#include "storage_tier.h"

#include <canopy/base/printable.h>

#include <algorithm>
#include <new>

namespace canopy {
namespace {

constexpr std::uint64_t kSecond = 1'000'000;
/// Real time: microseconds until the next check for ended calls.
constexpr std::uint64_t kAskAgain = 100;
/// A call this late (in microseconds) is considered lost.
constexpr std::uint64_t kOverdue = 30 * kSecond;

StorageState shown(Breaker::State state) {
  switch (state) {
    case Breaker::State::closed:
      return StorageState::closed;
    case Breaker::State::half_open:
      return StorageState::half_open;
    case Breaker::State::open:
      break;
  }
  return StorageState::open;
}

/// Adds to a sum. An unknown summand makes the sum unknown.
void add(std::uint64_t& sum, std::uint64_t more) {
  sum = more == kUnlimited || sum > kUnlimited - more ? kUnlimited : sum + more;
}

}  // namespace

void StorageTier::turn(std::uint64_t now_us, const TurnBoard* agreed) {
  link_.now_us = std::max(link_.now_us, now_us);
  if (agreed) {
    link_.calls.agree(*agreed);
    while (const auto call = link_.calls.next_agreed()) ended(*call, *call->end);
  } else {
    end_calls();
  }
  reader_.arrive_late();
  if (in_real_time()) {
    reader_.abandon_late();
    writer_.abandon_late();
    abandon_the_storage();
  }
  link_.device.tiers[Counter::breaks_storage] = link_.breaker.opened();
  show_breaker();
}

std::uint64_t StorageTier::next_us() const { return in_real_time() ? link_.now_us + kAskAgain : link_.calls.next_us(); }

/// Processes the calls that have ended here.
void StorageTier::end_calls() {
  while (const auto call = link_.calls.next(link_.now_us)) ended(*call, call->end ? *call->end : end_of(*call));
}

void StorageTier::offer(TurnBoard& board, std::uint64_t now_us) {
  link_.calls.offer(board, std::max(link_.now_us, now_us), [&](const StorageCall& call) { return end_of(call); });
}

void StorageTier::stop() {
  link_.breaker.open_for_ever();
  reader_.stop();
}

/// Returns the result of a call on this rank.
CallEnd StorageTier::end_of(const StorageCall& call) {
  if (call.lost) return {CallEnd::How::lost};
  if (call.kind != StorageCall::Kind::put) return reader_.end_of(call);
  return {CallEnd::how_of(call.fate), static_cast<std::uint32_t>(std::ranges::count(call.fates, Fate::done))};
}

void StorageTier::ended(const StorageCall& call, const CallEnd& end) {
  if (end.how == CallEnd::How::lost) link_.breaker.open_for_ever();
  if (call.kind == StorageCall::Kind::put) writer_.ended(call, end);
  else reader_.ended(call, end);
}

/// Stops using a storage that has not ended a call long after its time limit. The memory of the call stays with the
/// storage, but for a put written through.
void StorageTier::abandon_the_storage() {
  const auto overdue = [&](const auto& job) { return job->open > 0 && link_.now_us >= job->late_us + kOverdue; };
  if (std::ranges::none_of(reader_.reads(), overdue) && std::ranges::none_of(writer_.puts(), overdue)) return;
  link_.device.note(Sentence("{} did not end a call {} s after its time limit, and is no longer called",
                             link_.calls.storage(0).name(), kOverdue / kSecond));
  link_.calls.abandon();
  end_calls();
}

/// Returns a namespace's name for a note. Needs no memory.
Sentence StorageTier::noted_name(NamespaceId space) const noexcept {
  const std::string& name = link_.device.spaces.name_of(space);
  try {
    return Sentence("{}", shown_name(name));
  } catch (const std::bad_alloc&) {  // for marks around it
    return Sentence("{}", name);
  }
}

void StorageTier::flushed(NamespaceId space) noexcept {
  reader_.flushed(space);
  bool lasts = true, forgotten = true;
  for (std::size_t g = 0; g < link_.groups(); ++g) {
    bool answered = false;
    link_.calls.storage(g).call("flush", [&](PageStorage& storage) {
      lasts &= storage.flush(link_.space_key(space));
      answered = true;
    });
    forgotten &= answered;
  }
  if (!forgotten) {
    link_.breaker.open_for_ever();  // it may still have the records
    link_.device.note(
        Sentence("{} could not flush namespace {}, and is no longer called", name(), noted_name(space).view()));
    return;
  }
  if (lasts) return;
  const Sentence note(
      "namespace {} was flushed while its storage was out of reach: its records are not found again by this process, "
      "and another one may find them",
      noted_name(space).view());
  // One for each namespace, however often it is flushed.
  if (std::ranges::find(link_.device.notes, note.view()) == link_.device.notes.end()) link_.device.note(note);
}

void StorageTier::add_moving(std::array<std::vector<Page>, kMaxGroups>& pages) const {
  for (std::size_t g = 0; g < link_.state.pools.size(); ++g) {
    for (const auto& read : reader_.reads())
      pages[g].insert(pages[g].end(), read->pages[g].begin(), read->pages[g].end());
    for (const auto& put : writer_.puts())
      if (put->lock.length == 0) pages[g].insert(pages[g].end(), put->pages[g].begin(), put->pages[g].end());
  }
}

void StorageTier::show_breaker() {
  event::StorageHealth& health = link_.device.board.health;
  health.state = shown(link_.breaker.state(link_.now_us));
  health.until_us = link_.breaker.until();
}

void StorageTier::show() {
  CounterValues& counters = link_.device.tiers;
  std::uint64_t& held = counters[Counter::held_bytes_storage] = 0;
  std::uint64_t& lost = counters[Counter::lost_bytes_storage] = 0;
  const auto count = [&](const auto& job, bool abandoned) {
    if (!job.lost && (!abandoned || job.open == 0)) return;
    for (std::size_t g = 0; g < link_.groups(); ++g)
      (job.lost ? lost : held) += job.pages[g].size() * link_.record_bytes(g);
  };
  for (const auto& read : reader_.reads()) count(*read, read->done());
  for (const auto& put : writer_.puts()) count(*put, put->late);
  std::uint64_t& capacity = counters[Counter::capacity_bytes_storage] = 0;
  std::uint64_t& used = counters[Counter::used_bytes_storage] = 0;
  std::uint64_t& records = counters[Counter::kept_records_storage] = 0;
  for (std::size_t g = 0; g < link_.groups(); ++g) {
    const StorageUse use = link_.calls.storage(g).read("use", &PageStorage::use);
    add(capacity, use.capacity);
    add(used, use.used);
    add(records, use.records);
  }
}

std::uint64_t StorageTier::lacked() const {
  std::uint64_t lacked = 0;
  for (std::size_t g = 0; g < link_.groups(); ++g)
    lacked += link_.calls.storage(g).read("use", &PageStorage::use).lacked;
  return lacked;
}

}  // namespace canopy
