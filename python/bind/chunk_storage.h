#pragma once

#include <canopy/page_storage.h>

#include <chrono>
#include <condition_variable>
#include <future>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include <tiers/page_record.h>

#include "chunk_rows.h"

namespace canopy::python {

/// Chunks of bytes on a storage, as records: a header with the chunk's name and checksums before the bytes, checked
/// when a record is read. Chunks are rows of the caller's memory; records are made and checked in memory of its own, by
/// one thread, which alone calls the storage.
///
/// A storage that fails several times in a row is left alone for a while: meanwhile lookups find nothing, and
/// stores are refused. So a storage that has gone costs a caller no waiting.
///
/// Thread: any. Functions that wait say so; the others return at once.
/// Errors: a job that fails ends all the same, with the chunks that succeeded. After an exception of the storage, or a
/// lack of memory in its thread, it is empty. Fork: a child's copy is empty, and its jobs end at once with nothing
/// done.
class ChunkStorage {
 public:
  struct Settings {
    std::shared_ptr<PageStorage> storage;
    std::uint64_t record_bytes = 0;  ///< bytes of a record; record_bytes(rows.bytes())
    Fingerprint fingerprint{};       ///< hash of the meaning of the bytes, as the storage has it
    ChunkRows rows;
    std::size_t staging = 0;          ///< records that may be under way at a time
    std::chrono::microseconds limit;  ///< time limit of a call of the storage
  };
  explicit ChunkStorage(Settings settings);
  ~ChunkStorage();
  /// Fails the jobs that have not begun, and waits for the others: afterwards nothing touches the rows. The destructor
  /// calls it as well.
  void stop();
  ChunkStorage(const ChunkStorage&) = delete;

  /// A chunk by its name, and the row that it is copied from or to.
  struct Chunk {
    std::string name;
    std::size_t row = 0;
  };
  struct Ended {
    std::uint64_t job = 0;
    bool load = false;
    std::vector<std::uint8_t> good;  ///< one for each chunk: 1 if it was kept or read
    double seconds = 0;
    bool ok() const;
  };
  struct Figures {
    std::uint64_t stored = 0, known = 0, loaded = 0, absent = 0, damaged = 0, failed = 0, refused = 0;  ///< chunks
    std::uint64_t pauses = 0;  ///< times that the storage was left alone
    std::string flaw;          ///< Short error message about the last record that was not as it should be.
  };

  /// Returns which of the chunks the storage has. Waits for the storage, at most twice the time limit. `gaps`: also of
  /// a storage with other writers, finds chunks after the first that is not there.
  std::vector<std::uint8_t> have(const std::vector<std::string>& names, bool gaps);
  /// Begins a job. REQUIRES: its rows stay as they are until it has ended.
  void begin(std::uint64_t job, bool load, std::vector<Chunk> chunks);
  /// Returns the jobs that have ended since the last call.
  std::vector<Ended> ended();
  /// Runs a job and waits for its end. ended() does not return it.
  Ended run(bool load, std::vector<Chunk> chunks);
  /// Waits until all jobs have ended.
  void drain();
  /// Forgets all chunks. Waits for the storage. Returns false if it may have them again when it is opened later.
  bool clear();
  Figures figures() const;
  /// Returns true if other processes can read the chunks.
  bool shared() const { return settings_.storage->traits().shared; }

  static std::uint64_t record_bytes(std::size_t row_bytes) {
    return kRecordHeader + (row_bytes + kAlign - 1) / kAlign * kAlign;
  }

 private:
  static constexpr std::size_t kAlign = 4096;
  static constexpr std::uint8_t kGood = 1;
  using Clock = std::chrono::steady_clock;
  struct Question;
  struct Job {
    Ended result;
    std::promise<Ended>* waiting = nullptr;  ///< the caller of run()
    std::vector<Chunk> chunks;
    std::vector<PageKey> keys;
    std::size_t next = 0, pending = 0;
    bool looked = false;  ///< store: the chunks that the storage has already are known
    Clock::time_point began;
  };
  struct Call {
    Job* job = nullptr;  ///< null, and no question: it was given up
    std::shared_ptr<Question> question;
    std::size_t first = 0, count = 0;
    std::vector<std::byte*> buffers;
  };

  using Jobs = std::list<Job>;  // a job moves from list to list without memory

  void open(Jobs job, bool load, std::vector<Chunk> chunks);
  void end(Jobs& from, Jobs::iterator job, Jobs& ended);
  bool forked() const;
  void loop();
  void fail(const char* flaw) noexcept;
  void serve();
  bool take(bool& stopping);
  bool begin_calls();
  bool begin_job(Job& job);
  void ask(const std::shared_ptr<Question>& question, std::size_t first, std::size_t count);
  void end_part(Question& question);
  void answer(Call& call, const StorageDone& done);
  void moved(Call& call, const StorageDone& done);
  bool read(Call& call, std::size_t i);
  bool end_if_done(Job& job);
  void judge(Fate fate);
  bool paused() const { return Clock::now() < paused_until_; }
  void wait();
  void wake() const;
  PageKey key_of(const std::string& name) const;
  RecordFacts facts(const Job& job, std::size_t at, std::vector<std::uint32_t>& words) const;
  std::uint64_t limit_us() const { return static_cast<std::uint64_t>(settings_.limit.count()); }

  Settings settings_;
  PageKey space_;
  std::byte* memory_ = nullptr;
  std::size_t memory_bytes_ = 0;
  int wake_ = -1;
  const int process_;
  Jobs forked_ended_;  ///< jobs of a forked child that have ended

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // Under the mutex:
  Jobs new_jobs_;
  std::list<std::shared_ptr<Question>> new_questions_;
  std::list<std::promise<bool>> new_clears_;
  Jobs ended_;
  std::size_t open_ = 0;  ///< jobs that have not ended
  bool stop_ = false, stopped_ = false;
  Figures figures_;

  // Only for the thread:
  Jobs jobs_;
  std::list<std::shared_ptr<Question>> questions_;  ///< those that it has begun to ask, and later ones
  std::list<std::promise<bool>> clears_;
  std::unordered_map<std::uint64_t, Call> calls_;
  std::vector<std::byte*> free_;
  std::uint64_t ticket_ = 0;
  unsigned strikes_ = 0;
  bool failed_ = false;
  Clock::time_point paused_until_{};
  std::thread thread_;
};

}  // namespace canopy::python
