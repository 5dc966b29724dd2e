/// The part of a ChunkStorage that moves the chunks of its jobs between their rows and the storage.
#include <algorithm>
#include <cstring>

#include "chunk_storage.h"

namespace canopy::python {
namespace {

constexpr unsigned kStrikes = 4;  // failures in a row after which a storage is left alone
constexpr auto kPause = std::chrono::seconds(5);
constexpr std::size_t kParts = 8;  // calls among which the memory is divided: some are copied while others are written

}  // namespace

bool ChunkStorage::begin_calls() {
  bool any = false;
  for (auto at = jobs_.begin(); at != jobs_.end();) {
    Job& job = *at++;  // it may end
    // After a failure there may be calls that never end.
    while ((failed_ || calls_.size() < std::max(settings_.storage->traits().calls, 1U)) && begin_job(job)) any = true;
    any |= end_if_done(job);
  }
  return any;
}

/// Begins one more call of a job. Returns false if there is none to begin now.
bool ChunkStorage::begin_job(Job& job) {
  if (job.next >= job.chunks.size()) return false;
  if (paused()) {
    const std::lock_guard lock(mutex_);
    figures_.refused += job.chunks.size() - job.next;
    job.next = job.chunks.size();
    return false;
  }
  if (!job.result.load && !job.looked) {
    if (job.pending > 0) return false;
    Call call;
    call.job = &job, call.count = job.keys.size();
    calls_.emplace(++ticket_, std::move(call));
    ++job.pending;
    settings_.storage->find(ticket_, space_, job.keys, limit_us());
    return true;
  }
  const std::size_t count = std::min({job.chunks.size() - job.next, free_.size(),
                                      std::size_t{std::max(settings_.storage->traits().batch, 1U)},
                                      std::max<std::size_t>(settings_.staging / kParts, 1)});
  if (count == 0) return false;
  Call call;
  call.job = &job, call.first = job.next, call.count = count;
  std::vector<std::uint32_t> words;
  for (std::size_t at = job.next; at < job.next + count; ++at) {
    std::byte* const buffer = free_.back();
    free_.pop_back();
    call.buffers.push_back(buffer);
    if (job.result.load) continue;
    settings_.rows.read(job.chunks[at].row, buffer + kRecordHeader);
    seal_record(buffer, facts(job, at, words));
  }
  job.next += count;
  ++job.pending;
  const auto keys = std::span(job.keys).subspan(call.first, count);
  const auto [made, _] = calls_.emplace(++ticket_, std::move(call));
  const std::vector<std::byte*>& buffers = made->second.buffers;
  if (job.result.load) settings_.storage->get(ticket_, space_, keys, buffers, limit_us());
  else {
    const std::vector<const std::byte*> records(buffers.begin(), buffers.end());
    settings_.storage->put(ticket_, space_, keys, records, limit_us(), 0);
  }
  return true;
}

void ChunkStorage::moved(Call& call, const StorageDone& done) {
  Job& job = *call.job;
  judge(done.fate == Fate::absent || done.fate == Fate::full ? Fate::done : done.fate);
  std::vector<Fate> fates(done.fates.begin(), done.fates.end());
  fates.resize(call.count, done.fate == Fate::done ? Fate::failed : done.fate);
  std::vector<std::uint8_t> good(call.count);
  for (std::size_t i = 0; i < call.count; ++i)
    good[i] = fates[i] == Fate::done && (!job.result.load || read(call, i)) ? kGood : std::uint8_t{0};
  {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < call.count; ++i) {
      if (good[i]) ++(job.result.load ? figures_.loaded : figures_.stored);
      else if (fates[i] == Fate::absent) ++figures_.absent;
      else if (fates[i] != Fate::done) ++figures_.failed;
    }
  }
  std::ranges::copy(good, job.result.good.begin() + static_cast<std::ptrdiff_t>(call.first));
  free_.insert(free_.end(), call.buffers.begin(), call.buffers.end());
  --job.pending;
  end_if_done(job);
}

/// Checks a record and copies its bytes to their row. Returns false, and removes the record, if it is not as it should
/// be.
bool ChunkStorage::read(Call& call, std::size_t i) {
  const Job& job = *call.job;
  const std::size_t at = call.first + i;
  std::vector<std::uint32_t> words;
  const char* const flaw = flaw_of_record(call.buffers[i], facts(job, at, words));
  if (!flaw) {
    settings_.rows.write(job.chunks[at].row, call.buffers[i] + kRecordHeader);
    return true;
  }
  settings_.storage->remove(space_, {&job.keys[at], 1});
  const std::lock_guard lock(mutex_);
  ++figures_.damaged;
  figures_.flaw = flaw;
  return false;
}

RecordFacts ChunkStorage::facts(const Job& job, std::size_t at, std::vector<std::uint32_t>& words) const {
  const std::string& name = job.chunks[at].name;
  words.assign((name.size() + sizeof(std::uint32_t) - 1) / sizeof(std::uint32_t), 0);
  std::memcpy(words.data(), name.data(), name.size());
  RecordFacts facts;
  facts.key = job.keys[at], facts.parent = space_;
  facts.fingerprint = settings_.fingerprint;
  facts.words = words;
  facts.image_bytes = settings_.rows.bytes();
  return facts;
}

/// Ends a job that has nothing more to do. Returns false if it has.
bool ChunkStorage::end_if_done(Job& job) {
  if (job.pending > 0 || job.next < job.chunks.size()) return false;
  const auto at = std::ranges::find_if(jobs_, [&](const Job& one) { return &one == &job; });
  job.result.seconds = std::chrono::duration<double>(Clock::now() - job.began).count();
  const std::lock_guard lock(mutex_);
  --open_;
  end(jobs_, at, ended_);
  changed_.notify_all();
  return true;
}

/// Counts failures in a row.
void ChunkStorage::judge(Fate fate) {
  if (fate == Fate::done) {
    strikes_ = 0;
    return;
  }
  if (paused() || ++strikes_ < kStrikes) return;
  strikes_ = 0;
  paused_until_ = Clock::now() + kPause;
  const std::lock_guard lock(mutex_);
  ++figures_.pauses;
}

}  // namespace canopy::python
