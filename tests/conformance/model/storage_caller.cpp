#include "storage_caller.h"

#include <canopy/base/random.h>
#include <canopy/helpers/record_head.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <numeric>
#include <thread>

#include <program/mismatch.h>

namespace canopy::test {

namespace {

constexpr std::byte kUntouched{0x5C};
/// A call that does not end within this time counts as one that never ends. It is far more than any call may take.
constexpr std::chrono::seconds kNever{30};

}  // namespace

PageKey key_of(std::uint32_t path, std::uint32_t page) {
  Random random(std::uint64_t{path} << 32 | page);
  return {{random.next(), random.next(), random.next(), random.next()}};
}

std::vector<PageKey> path_of(std::uint32_t path, std::uint32_t pages, std::uint32_t first) {
  std::vector<PageKey> keys;
  for (std::uint32_t page = first; page < first + pages; ++page) keys.push_back(key_of(path, page));
  return keys;
}

StorageCaller::StorageCaller(std::shared_ptr<PageStorage> storage, const PageStorage::Context& context,
                             std::uint32_t world, std::uint32_t room)
    : storage_(std::move(storage)), record_bytes_(context.record_bytes), world_(world), room_(room), free_(room) {
  const std::size_t bytes = (room + 2) * record_bytes_;
  memory_.reset(static_cast<std::byte*>(std::aligned_alloc(4096, bytes)));
  if (!memory_) disagree("no memory for {} records", room);
  std::fill_n(memory_.get(), bytes, kUntouched);
  std::iota(free_.begin(), free_.end(), 0);
  storage_->use_memory({record(0), room * record_bytes_});
}

StorageCaller::~StorageCaller() { storage_.reset(); }

/// Fills a record: its beginning is that of the engine's records, because a storage may read it; the rest depends on
/// the key and the world.
void StorageCaller::fill(std::byte* record, const PageKey& key) const {
  Random random(key.bits[0] + world_);
  for (std::uint64_t at = 0; at < record_bytes_; at += 8) {
    const std::uint64_t word = random.next();
    std::memcpy(record + at, &word, 8);
  }
  const RecordHead head{RecordHead::kMagic, {}, key, {}};
  std::memcpy(record, &head, sizeof head);
}

StorageCaller::Call& StorageCaller::begin(Kind kind, const Keys& keys) {
  Call& call = calls_[next_ticket_++];
  call.kind = kind;
  call.keys = keys;
  if (kind == Kind::find || kind == Kind::find_each) return call;
  if (keys.size() > free_.size()) disagree("the test has no memory for {} records", keys.size());
  // Takes them from both ends, so that records of a call are adjacent in memory or far apart.
  if (next_ticket_ % 2) std::reverse(free_.begin(), free_.end());
  call.records.assign(free_.end() - static_cast<std::ptrdiff_t>(keys.size()), free_.end());
  free_.resize(free_.size() - keys.size());
  if (kind == Kind::put)
    for (std::size_t i = 0; i < keys.size(); ++i) fill(record(call.records[i]), keys[i]);
  return call;
}

std::uint64_t StorageCaller::find(const PageKey& space, const Keys& keys, std::uint64_t within_us) {
  begin(Kind::find, keys);
  const Keys lent = keys;  // valid only during the call
  storage_->find(next_ticket_ - 1, space, lent, within_us);
  return next_ticket_ - 1;
}

std::uint64_t StorageCaller::find_each(const PageKey& space, const Keys& keys, std::uint64_t within_us) {
  begin(Kind::find_each, keys);
  const Keys lent = keys;  // valid only during the call
  storage_->find_each(next_ticket_ - 1, space, lent, within_us);
  return next_ticket_ - 1;
}

std::uint64_t StorageCaller::get(const PageKey& space, const Keys& keys, std::uint64_t within_us) {
  std::vector<std::byte*> records;
  for (const std::uint32_t number : begin(Kind::get, keys).records) records.push_back(record(number));
  const Keys lent = keys;
  storage_->get(next_ticket_ - 1, space, lent, records, within_us);
  return next_ticket_ - 1;
}

std::uint64_t StorageCaller::put(const PageKey& space, const Keys& keys, std::uint64_t within_us) {
  std::vector<const std::byte*> records;
  for (const std::uint32_t number : begin(Kind::put, keys).records) records.push_back(record(number));
  const Keys lent = keys;
  storage_->put(next_ticket_ - 1, space, lent, records, within_us, 0);
  return next_ticket_ - 1;
}

std::size_t StorageCaller::poll(std::size_t most) {
  std::vector<StorageDone> done(most);
  const std::size_t count = storage_->poll(done);
  if (count > most) disagree("poll() returned {} results, but there was room for {}", count, most);
  for (std::size_t i = 0; i < count; ++i) end(done[i]);
  return count;
}

void StorageCaller::end(const StorageDone& done) {
  const auto found = calls_.find(done.ticket);
  if (found == calls_.end()) disagree("ticket {} ended, but it is not pending", done.ticket);
  const Call& call = found->second;
  Ended ended{done.fate, done.found, {done.fates.begin(), done.fates.end()}};
  if (call.kind == Kind::find) {
    if (!ended.fates.empty()) disagree("a find ended with {} fates of records, but it has none", ended.fates.size());
    if (ended.found > call.keys.size()) disagree("a find of {} keys found {}", call.keys.size(), ended.found);
    if (ended.fate != Fate::done && ended.found > 0) disagree("a find that failed found {}", ended.found);
  } else {
    if (ended.fates.size() != call.keys.size())
      disagree("a call of {} records ended with {} fates", call.keys.size(), ended.fates.size());
    const auto worse =
        std::find_if(ended.fates.begin(), ended.fates.end(), [](Fate fate) { return fate != Fate::done; });
    if (ended.fate != (worse == ended.fates.end() ? Fate::done : *worse))
      disagree("a call's fate is {}, not the first of its records' that is not done",
               static_cast<std::uint32_t>(ended.fate));
    if (call.kind == Kind::put && !std::all_of(worse, ended.fates.end(), [](Fate fate) { return fate != Fate::done; }))
      disagree("a record was kept after one that was not");
  }
  std::vector<std::byte> expected(record_bytes_);
  for (std::size_t i = 0; i < call.records.size(); ++i) {
    std::byte* const memory = record(call.records[i]);
    fill(expected.data(), call.keys[i]);
    if ((call.kind == Kind::put || ended.fates[i] == Fate::done) &&
        !std::equal(expected.begin(), expected.end(), memory))
      disagree("record {} of a {}", i, call.kind == Kind::put ? "put was changed" : "get is another record");
    std::fill_n(memory, record_bytes_, kUntouched);
    free_.push_back(call.records[i]);
  }
  calls_.erase(found);
  ended_[done.ticket] = std::move(ended);
}

void StorageCaller::wait_all() {
  const auto until = std::chrono::steady_clock::now() + kNever;
  while (!calls_.empty()) {
    if (std::chrono::steady_clock::now() > until) disagree("{} calls have not ended within 30 s", calls_.size());
    const int descriptor = storage_->descriptor();
    if (descriptor < 0) {
      if (poll() == 0) std::this_thread::yield();
      continue;
    }
    pollfd readable{descriptor, POLLIN, 0};
    if (::poll(&readable, 1, 30'000) == 0) {
      if (poll() > 0) disagree("poll() had a result, but the descriptor was not readable");
    } else {
      poll();
    }
  }
  check_memory();
}

Ended StorageCaller::ended(std::uint64_t ticket) {
  const auto found = ended_.find(ticket);
  if (found == ended_.end()) disagree("ticket {} has not ended", ticket);
  Ended came = std::move(found->second);
  ended_.erase(found);
  return came;
}

Ended StorageCaller::wait(std::uint64_t ticket) {
  wait_all();
  return ended(ticket);
}

void StorageCaller::end_storage() {
  storage_.reset();
  for (const auto& [ticket, call] : calls_)
    for (const std::uint32_t number : call.records) {
      std::fill_n(record(number), record_bytes_, kUntouched);
      free_.push_back(number);
    }
  calls_.clear();
}

void StorageCaller::check_memory() const {
  const auto check = [&](const std::byte* from) {
    if (from[0] != kUntouched || std::memcmp(from, from + 1, record_bytes_ - 1) != 0)
      disagree("the storage touched memory that no call was using");
  };
  check(memory_.get());
  check(record(room_));
  for (const std::uint32_t number : free_) check(record(number));
}

}  // namespace canopy::test
