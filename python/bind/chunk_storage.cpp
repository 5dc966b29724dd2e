#include "chunk_storage.h"

#include <canopy/base/sha256.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <tuple>
#include <utility>

namespace canopy::python {
namespace {

constexpr int kLookMs = 50;  // with a descriptor; without one the storage is polled each millisecond

PageKey page_key(const Sha256& digest) {
  PageKey key;
  std::memcpy(key.bits.data(), digest.data(), 3 * sizeof(std::uint64_t));
  key.bits[3] = key.bits[0];  // a chunk does not know which chunks it follows, so each has a placement of its own
  return key;
}

}  // namespace

/// A question for some chunks, and which of them the storage has.
struct ChunkStorage::Question {
  std::vector<PageKey> keys;
  std::vector<std::uint8_t> there;
  bool gaps = false;
  std::size_t pending = 1;  ///< calls, and 1 until all of them have begun
  bool answered = false;
};

bool ChunkStorage::Ended::ok() const {
  return std::ranges::all_of(good, [](std::uint8_t one) { return one == kGood; });
}

ChunkStorage::ChunkStorage(Settings settings) : settings_(std::move(settings)), process_(::getpid()) {
  const auto* const print = reinterpret_cast<const char*>(settings_.fingerprint.data());
  space_ = page_key(sha256("canopy chunk space 1", {print, settings_.fingerprint.size()}));
  memory_bytes_ = settings_.staging * settings_.record_bytes;
  void* const memory = ::mmap(nullptr, memory_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "memory for records");
  memory_ = static_cast<std::byte*>(memory);
  ::madvise(memory_, memory_bytes_, MADV_HUGEPAGE);  // fewer faults; a system without them does as well
  wake_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  for (std::size_t i = settings_.staging; i-- > 0;) free_.push_back(memory_ + i * settings_.record_bytes);
  settings_.storage->use_memory({memory_, memory_bytes_});
  thread_ = std::thread([this] { loop(); });
}

/// Returns true in a child of the process: it has no thread, and a thread of its parent may have had the mutex.
bool ChunkStorage::forked() const { return ::getpid() != process_; }

void ChunkStorage::stop() {
  if (forked()) {
    if (thread_.joinable()) thread_.detach();
    return;
  }
  std::unique_lock lock(mutex_);
  if (stop_) return changed_.wait(lock, [&] { return stopped_; });
  stop_ = true;
  changed_.notify_all();
  lock.unlock();
  wake();
  thread_.join();
  lock.lock();
  stopped_ = true;
  changed_.notify_all();
}

ChunkStorage::~ChunkStorage() {
  stop();
  settings_.storage.reset();  // it uses the memory until its end
  ::munmap(memory_, memory_bytes_);
  ::close(wake_);
}

void ChunkStorage::wake() const {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(wake_, &one, sizeof one);  // full: it is awake anyway
}

PageKey ChunkStorage::key_of(const std::string& name) const {
  const auto* const space = reinterpret_cast<const char*>(space_.bits.data());
  return page_key(sha256({space, sizeof space_.bits}, name));
}

std::vector<std::uint8_t> ChunkStorage::have(const std::vector<std::string>& names, bool gaps) {
  if (names.empty()) return {};
  const auto question = std::make_shared<Question>();
  for (const std::string& name : names) question->keys.push_back(key_of(name));
  question->there.resize(names.size());
  question->gaps = gaps;
  if (forked()) return question->there;
  std::unique_lock lock(mutex_);
  new_questions_.push_back(question);
  wake();
  changed_.wait_for(lock, 2 * settings_.limit, [&] { return question->answered || stop_; });
  return question->answered ? question->there : std::vector<std::uint8_t>(names.size());
}

/// Ends a job: its caller waits, or it goes to `ended`.
void ChunkStorage::end(Jobs& from, Jobs::iterator job, Jobs& ended) {
  if (!job->waiting) return ended.splice(ended.end(), from, job);
  job->waiting->set_value(std::move(job->result));
  from.erase(job);
}

/// Queues a job. After stop() it ends at once, with nothing done.
void ChunkStorage::open(Jobs one, bool load, std::vector<Chunk> chunks) {
  Job& job = one.front();
  job.result.load = load;
  job.result.good.resize(chunks.size());
  for (const Chunk& chunk : chunks) job.keys.push_back(key_of(chunk.name));
  job.chunks = std::move(chunks);
  job.began = Clock::now();
  if (forked()) return end(one, one.begin(), forked_ended_);
  const std::lock_guard lock(mutex_);
  if (stop_) return end(one, one.begin(), ended_);
  new_jobs_.splice(new_jobs_.end(), one);
  ++open_;
  wake();
}

void ChunkStorage::begin(std::uint64_t job, bool load, std::vector<Chunk> chunks) {
  Jobs begun(1);
  begun.front().result.job = job;
  open(std::move(begun), load, std::move(chunks));
}

ChunkStorage::Ended ChunkStorage::run(bool load, std::vector<Chunk> chunks) {
  std::promise<Ended> end;
  Jobs job(1);
  job.front().waiting = &end;
  open(std::move(job), load, std::move(chunks));
  return end.get_future().get();
}

bool ChunkStorage::clear() {
  std::future<bool> cleared;
  if (forked()) return false;
  {
    const std::lock_guard lock(mutex_);
    if (stop_) return false;
    cleared = new_clears_.emplace_back().get_future();
    wake();
  }
  return cleared.get();
}

std::vector<ChunkStorage::Ended> ChunkStorage::ended() {
  const bool child = forked();
  std::unique_lock lock(mutex_, std::defer_lock);
  if (!child) lock.lock();
  Jobs& jobs = child ? forked_ended_ : ended_;
  std::vector<Ended> all;
  all.reserve(jobs.size());
  for (Job& job : jobs) all.push_back(std::move(job.result));
  jobs.clear();
  return all;
}

void ChunkStorage::drain() {
  if (forked()) return;
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return open_ == 0; });
}

ChunkStorage::Figures ChunkStorage::figures() const {
  if (forked()) return {};
  const std::lock_guard lock(mutex_);
  return figures_;
}

// ---- The thread ----

void ChunkStorage::loop() {
  for (;;) try {
      serve();
      return;
    } catch (const std::exception& error) {  // no memory, or a storage that throws
      fail(error.what());
    } catch (...) {
      fail("an exception that is no std::exception");
    }
}

/// Ends all that is under way. From now on the storage is only polled.
void ChunkStorage::fail(const char* flaw) noexcept {
  if (failed_) std::this_thread::sleep_for(std::chrono::milliseconds(10));  // a storage that always throws
  failed_ = true;
  paused_until_ = Clock::time_point::max();
  for (auto& [_, call] : calls_) {
    call.job = nullptr;
    if (call.question) end_part(*std::exchange(call.question, nullptr));
  }
  for (const auto& question : questions_) end_part(*question);
  questions_.clear();
  for (std::promise<bool>& clear : clears_) clear.set_value(false);
  clears_.clear();
  for (Job& job : jobs_) job.pending = 0, job.next = job.chunks.size();
  const std::lock_guard lock(mutex_);
  try {
    figures_.flaw = flaw;
  } catch (const std::bad_alloc&) {
    figures_.flaw.clear();
  }
}

void ChunkStorage::serve() {
  std::array<StorageDone, 16> done;
  std::array<std::vector<Fate>, std::tuple_size_v<decltype(done)>> fates;
  for (bool stopping = false;;) {
    bool busy = take(stopping);
    busy |= begin_calls();
    if (stopping && jobs_.empty() && (calls_.empty() || failed_)) return;
    for (std::size_t count; (count = settings_.storage->poll(done)) > 0; busy = true) {
      for (std::size_t i = 0; i < count; ++i) {  // the spans are valid until the next call of the storage
        fates[i].assign(done[i].fates.begin(), done[i].fates.end());
        done[i].fates = fates[i];
      }
      for (const StorageDone& one : std::span(done).first(count)) {
        const auto found = calls_.find(one.ticket);
        if (found == calls_.end()) continue;
        Call& call = found->second;  // it stays until it is answered, so that fail() finds it
        if (!call.job && !call.question) free_.insert(free_.end(), call.buffers.begin(), call.buffers.end());
        else call.buffers.empty() ? answer(call, one) : moved(call, one);
        calls_.erase(one.ticket);  // more calls may have come
      }
    }
    if (!busy) wait();
  }
}

void ChunkStorage::wait() {
  const int descriptor = settings_.storage->descriptor();
  pollfd both[2] = {{wake_, POLLIN, 0}, {descriptor, POLLIN, 0}};
  ::poll(both, descriptor >= 0 ? 2 : 1, descriptor >= 0 || calls_.empty() ? kLookMs : 1);
  std::uint64_t count = 0;
  [[maybe_unused]] const auto got = ::read(wake_, &count, sizeof count);
}

/// Takes what other threads want. Returns true if there was anything.
bool ChunkStorage::take(bool& stopping) {
  bool any = false;
  {
    const std::lock_guard lock(mutex_);
    stopping = stop_;
    any = !new_jobs_.empty() || !new_questions_.empty();
    questions_.splice(questions_.end(), new_questions_);
    clears_.splice(clears_.end(), new_clears_);
    auto stores = std::ranges::find_if(jobs_, [](const Job& job) { return !job.result.load; });
    while (!new_jobs_.empty()) {  // loads first: a request waits for them
      const bool load = new_jobs_.front().result.load;
      jobs_.splice(load ? stores : jobs_.end(), new_jobs_, new_jobs_.begin());
      if (!load && stores == jobs_.end()) --stores;
    }
  }
  for (; !clears_.empty(); clears_.pop_front()) clears_.front().set_value(settings_.storage->flush(space_));
  for (; !questions_.empty(); questions_.pop_front()) {
    const auto& question = questions_.front();
    const std::size_t count = question->keys.size();
    const std::size_t part = question->gaps && !settings_.storage->traits().exact ? 1 : count;
    for (std::size_t at = 0; at < count; at += part) ask(question, at, part);  // a call counts no further than a gap
    end_part(*question);
  }
  if (stopping)
    for (Job& job : jobs_) job.next = job.chunks.size();
  return any;
}

/// Calls the storage for some of the chunks of a question, unless it is left alone.
void ChunkStorage::ask(const std::shared_ptr<Question>& question, std::size_t first, std::size_t count) {
  if (count == 0 || paused()) return;
  Call call;
  call.question = question, call.first = first, call.count = count;
  calls_.emplace(++ticket_, std::move(call));
  ++question->pending;
  settings_.storage->find(ticket_, space_, std::span(question->keys).subspan(first, count), limit_us());
}

/// Ends a part of a question. After the last one, have() returns.
void ChunkStorage::end_part(Question& question) {
  if (--question.pending > 0) return;
  const std::lock_guard lock(mutex_);
  question.answered = true;
  changed_.notify_all();
}

void ChunkStorage::answer(Call& call, const StorageDone& done) {
  judge(done.fate);
  const std::size_t found = done.fate == Fate::done ? std::min<std::size_t>(done.found, call.count) : 0;
  if (call.question) {
    std::fill_n(call.question->there.begin() + static_cast<std::ptrdiff_t>(call.first), found, kGood);
    // After a gap: another call is cheap, because the storage answers from its own memory.
    if (done.fate == Fate::done && found < call.count && settings_.storage->traits().exact)
      ask(call.question, call.first + found + 1, call.count - found - 1);
    return end_part(*std::exchange(call.question, nullptr));
  }
  Job& job = *call.job;
  --job.pending;
  job.looked = true;
  std::fill_n(job.result.good.begin(), found, kGood);
  job.next = std::max(job.next, found);
  {
    const std::lock_guard lock(mutex_);
    figures_.known += found;
  }
  end_if_done(job);
}

}  // namespace canopy::python
