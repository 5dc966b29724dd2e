/// Chunks on a storage that does what the tests say: late, damaged, full and broken.
#include <chunk_storage.h>
#include <doctest/doctest.h>

#include <support/refused_memory.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>

using namespace canopy;
using namespace canopy::python;
using canopy::test::RefusedMemory;

namespace {

constexpr std::size_t kRow = 8192, kRows = 64;

/// Records in memory. Each call ends in a later poll. What a poll has reported is overwritten by the next call.
class Shelf final : public PageStorage {
 public:
  StorageTraits traits() const override { return {.exact = exact, .batch = batch, .calls = calls}; }
  void find(std::uint64_t ticket, const PageKey&, std::span<const PageKey> keys, std::uint64_t) override {
    if (throws) throw std::runtime_error("on purpose");
    overwrite();
    std::uint32_t found = 0;
    while (found < keys.size() && records.contains(keys[found].bits[0])) ++found;
    ended_.push_back({ticket, fate, found, {}});
  }
  void find_each(std::uint64_t, const PageKey&, std::span<const PageKey>, std::uint64_t) override {
    FAIL("chunks are never looked up one by one");
  }
  void get(std::uint64_t ticket, const PageKey&, std::span<const PageKey> keys, std::span<std::byte* const> into,
           std::uint64_t) override {
    CHECK(keys.size() <= 4);
    if (throws_number) throw 1;
    if (throws) throw std::runtime_error("on purpose");
    overwrite();
    ++gets;
    std::vector<Fate> fates;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const auto record = records.find(keys[i].bits[0]);
      fates.push_back(record == records.end() ? Fate::absent : fate.load());
      if (fates.back() == Fate::done) std::memcpy(into[i], record->second.data(), record->second.size());
    }
    end(ticket, std::move(fates));
  }
  void put(std::uint64_t ticket, const PageKey&, std::span<const PageKey> keys, std::span<const std::byte* const> from,
           std::uint64_t, std::uint32_t) override {
    overwrite();
    std::vector<Fate> fates;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const bool room = records.size() < most;
      fates.push_back(fate != Fate::done ? fate.load() : room ? Fate::done : Fate::full);
      if (fates.back() == Fate::done)
        records[keys[i].bits[0]].assign(from[i], from[i] + ChunkStorage::record_bytes(kRow));
    }
    end(ticket, std::move(fates));
  }
  void remove(const PageKey&, std::span<const PageKey> keys) override {
    overwrite();
    for (const PageKey& key : keys) records.erase(key.bits[0]);
  }
  bool flush(const PageKey&) override {
    records.clear();
    return true;
  }
  std::size_t poll(std::span<StorageDone> done) override {
    if (hold) return 0;
    reported_.clear();
    std::size_t count = 0;
    for (; count < done.size() && !ended_.empty(); ++count) {
      StorageDone& one = done[count] = ended_.front();
      ended_.pop_front();
      const auto fates = fates_.extract(one.ticket);
      if (!fates) continue;
      reported_.push_back(std::move(fates.mapped()));
      one.fates = reported_.back();
      one.fate = fate_of(reported_.back());
    }
    return count;
  }
  StorageUse use() const override { return {}; }

  bool exact = true;
  std::uint32_t batch = 4, calls = 3;
  std::atomic<Fate> fate{Fate::done};
  std::atomic<bool> hold{false}, throws{false}, throws_number{false};
  std::atomic<int> gets{0};
  std::size_t most = 1000;
  std::map<std::uint64_t, std::vector<std::byte>> records;  // the tests touch it only while nothing is under way

 private:
  void end(std::uint64_t ticket, std::vector<Fate> fates) {
    fates_[ticket] = std::move(fates);
    ended_.push_back({ticket, Fate::done, 0, {}});
  }
  std::deque<StorageDone> ended_;
  std::map<std::uint64_t, std::vector<Fate>> fates_;
  void overwrite() {
    for (std::vector<Fate>& one : reported_) std::ranges::fill(one, Fate::late);
  }
  std::deque<std::vector<Fate>> reported_;
};

struct World {
  explicit World(std::chrono::milliseconds limit = std::chrono::milliseconds(200))
      : shelf(std::make_shared<Shelf>()), rows(kRow * kRows), storage(settings(limit)) {}
  ChunkStorage::Settings settings(std::chrono::milliseconds limit) {
    return {.storage = shelf,
            .record_bytes = ChunkStorage::record_bytes(kRow),
            .rows = ChunkRows({{rows.data(), kRow, kRow}}, kRows),
            .staging = 8,
            .limit = limit};
  }
  static std::string name(int chunk) { return "chunk " + std::to_string(chunk); }
  static std::byte byte_of(int chunk, std::size_t at) { return std::byte(chunk * 7 + static_cast<int>(at % 251)); }
  std::byte* row(int number) { return rows.data() + static_cast<std::size_t>(number) * kRow; }
  void fill(int number, int chunk) {
    for (std::size_t at = 0; at < kRow; ++at) row(number)[at] = byte_of(chunk, at);
  }
  bool has(int number, int chunk) {
    for (std::size_t at = 0; at < kRow; ++at)
      if (row(number)[at] != byte_of(chunk, at)) return false;
    return true;
  }
  static std::vector<ChunkStorage::Chunk> chunks(int first, int count) {
    std::vector<ChunkStorage::Chunk> all;
    for (int i = 0; i < count; ++i) all.push_back({name(first + i), static_cast<std::size_t>(i)});
    return all;
  }
  std::vector<std::uint8_t> run(bool load, int first, int count) {
    storage.begin(++jobs, load, chunks(first, count));
    storage.drain();
    const std::vector<ChunkStorage::Ended> ended = storage.ended();
    REQUIRE(ended.size() == 1);
    CHECK(ended[0].job == jobs);
    CHECK(ended[0].load == load);
    return ended[0].good;
  }
  void store(int first, int count) {
    for (int i = 0; i < count; ++i) fill(i, first + i);
    run(false, first, count);
  }

  std::shared_ptr<Shelf> shelf;
  std::vector<std::byte> rows;
  ChunkStorage storage;
  std::uint64_t jobs = 0;
};

const std::vector<std::uint8_t> kAll(20, 1), kNone(20, 0);

}  // namespace

TEST_CASE("a damaged record costs only itself, also where several calls are reported at a time") {
  World world;
  world.store(0, 1);  // it is read by the first of the calls
  world.shelf->records.begin()->second[ChunkStorage::record_bytes(kRow) - 1] ^= std::byte{1};
  world.store(0, 20);
  world.shelf->hold = true;
  world.storage.begin(++world.jobs, true, World::chunks(0, 20));
  while (world.shelf->gets < 2) std::this_thread::yield();
  world.shelf->hold = false;
  world.storage.drain();
  const std::vector<ChunkStorage::Ended> ended = world.storage.ended();
  REQUIRE(ended.size() == 1);
  CHECK(std::ranges::count(ended[0].good, 1) == 19);
}

TEST_CASE("chunk storage: what is stored comes back, and only once to the storage") {
  World world;
  world.store(0, 20);
  CHECK(world.shelf->records.size() == 20);
  world.store(0, 20);
  CHECK(world.storage.figures().stored == 20);
  CHECK(world.storage.figures().known == 20);
  std::ranges::fill(world.rows, std::byte{0xee});
  CHECK(world.run(true, 0, 20) == kAll);
  for (int i = 0; i < 20; ++i) CHECK(world.has(i, i));
  CHECK(world.storage.have({World::name(3), World::name(99), World::name(4)}, false) ==
        std::vector<std::uint8_t>{1, 0, 1});
}

TEST_CASE("chunk storage: no records in a call, or no calls at a time, count as one") {
  for (const auto& [batch, calls] : {std::pair{0U, 3U}, std::pair{4U, 0U}}) {
    World world;
    world.shelf->batch = batch, world.shelf->calls = calls;
    world.store(0, 20);
    CHECK(world.run(true, 0, 20) == kAll);
  }
}

TEST_CASE("chunk storage: the parts of a row come from their columns, and go back to them") {
  constexpr std::size_t kKeys = 5000, kValues = 3192, kStep = 6000;  // keys and values apart, with room between them
  std::vector<std::byte> keys(kStep * 4), values(kStep * 4);
  const auto shelf = std::make_shared<Shelf>();
  ChunkStorage storage({.storage = shelf,
                        .record_bytes = ChunkStorage::record_bytes(kRow),
                        .rows = ChunkRows({{keys.data(), kKeys, kStep}, {values.data(), kValues, kStep}}, 4),
                        .staging = 8,
                        .limit = std::chrono::milliseconds(200)});
  const auto fill = [&](std::size_t row, int chunk) {
    for (std::size_t at = 0; at < kKeys; ++at) keys[row * kStep + at] = World::byte_of(chunk, at);
    for (std::size_t at = 0; at < kValues; ++at) values[row * kStep + at] = World::byte_of(chunk, kKeys + at);
  };
  for (const int row : {0, 1, 2, 3}) fill(static_cast<std::size_t>(row), row);
  CHECK(storage.run(false, World::chunks(0, 4)).ok());
  const std::vector<std::byte> was = keys, were = values;
  std::ranges::fill(keys, std::byte{0xee});
  std::ranges::fill(values, std::byte{0xee});
  CHECK(storage.run(true, {{World::name(1), 1}, {World::name(3), 3}}).ok());
  for (std::size_t at = 0; at < keys.size(); ++at) {
    const std::size_t row = at / kStep, place = at % kStep;
    CHECK(keys[at] == (row % 2 == 1 && place < kKeys ? was[at] : std::byte{0xee}));
    CHECK(values[at] == (row % 2 == 1 && place < kValues ? were[at] : std::byte{0xee}));
  }
}

TEST_CASE("chunk storage: with other writers, what is behind a gap is found only if it is asked for") {
  World world;
  world.shelf->exact = false;
  world.store(0, 20);
  const std::vector<std::string> names = {World::name(1), World::name(99), World::name(2), World::name(98),
                                          World::name(3)};
  CHECK(world.storage.have(names, false) == std::vector<std::uint8_t>{1, 0, 0, 0, 0});
  CHECK(world.storage.have(names, true) == std::vector<std::uint8_t>{1, 0, 1, 0, 1});
}

TEST_CASE("chunk storage: run() waits for its own job, and ended() does not have it") {
  World world;
  for (int i = 0; i < 20; ++i) world.fill(i, i);
  const ChunkStorage::Ended stored = world.storage.run(false, World::chunks(0, 20));
  CHECK(stored.good == kAll);
  CHECK(world.storage.ended().empty());
  std::vector<std::thread> threads;
  for (int number = 0; number < 3; ++number)
    threads.emplace_back([&, number] {
      for (int i = 0; i < 50; ++i) {
        const int chunk = (number * 7 + i) % 20;
        const auto row = static_cast<std::size_t>(20 + number);
        CHECK(world.storage.run(true, {{World::name(chunk), row}}).ok());
        CHECK(world.has(static_cast<int>(row), chunk));
      }
    });
  for (std::thread& thread : threads) thread.join();
  world.storage.stop();
  CHECK(world.storage.run(true, World::chunks(0, 20)).good == kNone);  // ends at once
}

TEST_CASE("chunk storage: after an exception of the storage, each job ends and nothing is found") {
  World world;
  world.store(0, 20);
  world.shelf->throws = true;
  CHECK(world.storage.run(true, World::chunks(0, 20)).good == kNone);
  CHECK(world.storage.figures().flaw == "on purpose");
  world.shelf->throws = false;
  CHECK(world.storage.run(true, World::chunks(0, 20)).good == kNone);
  CHECK(world.storage.run(false, World::chunks(20, 20)).good == kNone);
  CHECK(world.storage.have({World::name(0)}, false) == std::vector<std::uint8_t>{0});
  world.storage.stop();
}

TEST_CASE("chunk storage: a question in which the storage throws is answered at once") {
  World world(std::chrono::seconds(60));
  world.store(0, 2);
  world.shelf->throws = true;
  const auto before = std::chrono::steady_clock::now();
  CHECK(world.storage.have({World::name(0), World::name(1)}, true) == std::vector<std::uint8_t>{0, 0});
  CHECK(std::chrono::steady_clock::now() - before < std::chrono::seconds(30));
}

TEST_CASE("chunk storage: what was cleared is not there") {
  World world;
  world.store(0, 20);
  CHECK(world.storage.clear());
  CHECK(world.run(true, 0, 20) == kNone);
  world.storage.stop();
  CHECK(!world.storage.clear());
}

TEST_CASE("chunk storage: a damaged record is removed, and its row stays as it is") {
  World world;
  world.store(0, 20);
  for (const std::size_t place : {std::size_t{3}, std::size_t{130}, std::size_t{4096 + 77}}) {
    auto& record = std::next(world.shelf->records.begin(), static_cast<std::ptrdiff_t>(place % 5))->second;
    record[place] ^= std::byte{4};
  }
  std::ranges::fill(world.rows, std::byte{0xee});
  const auto good = world.run(true, 0, 20);
  int bad = 0;
  for (int i = 0; i < 20; ++i) {
    bad += !good[static_cast<std::size_t>(i)];
    CHECK(world.has(i, i) == (good[static_cast<std::size_t>(i)] == 1));
    if (!good[static_cast<std::size_t>(i)]) CHECK(world.row(i)[100] == std::byte{0xee});
  }
  CHECK(bad >= 1);
  CHECK(world.storage.figures().damaged == static_cast<std::uint64_t>(bad));
  CHECK(world.shelf->records.size() == static_cast<std::size_t>(20 - bad));
}

TEST_CASE("chunk storage: a full storage keeps what it has") {
  World world;
  world.shelf->most = 7;
  world.store(0, 20);
  CHECK(world.run(true, 0, 20) != kNone);
  CHECK(world.shelf->records.size() == 7);
  CHECK(world.storage.figures().pauses == 0);
}

TEST_CASE("chunk storage: a storage that fails is left alone") {
  World world;
  world.store(0, 20);
  world.shelf->fate = Fate::failed;
  CHECK(world.run(true, 0, 20) == kNone);
  CHECK(world.storage.figures().pauses >= 1);
  world.shelf->fate = Fate::done;
  CHECK(world.run(true, 0, 20) == kNone);  // no call of the storage
  CHECK(world.storage.figures().refused >= 20);
  CHECK(world.storage.have({World::name(0)}, false) == std::vector<std::uint8_t>{0});
}

TEST_CASE("chunk storage: a storage that does not answer costs its time limit, and stop() waits for it") {
  World world;
  world.store(0, 20);
  world.shelf->hold = true;
  CHECK(world.storage.have({World::name(0)}, false) == std::vector<std::uint8_t>{0});
  world.storage.begin(100, true, World::chunks(0, 20));
  world.storage.begin(101, false, World::chunks(20, 20));
  while (world.shelf->gets == 0) std::this_thread::yield();  // now calls are under way
  std::thread answers([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    world.shelf->hold = false;
  });
  world.storage.stop();
  answers.join();
  const auto ended = world.storage.ended();
  REQUIRE(ended.size() == 2);  // each job ends
  for (const auto& job : ended)
    for (std::size_t i = 0; i < job.good.size(); ++i)
      if (job.load && job.good[i]) CHECK(world.has(static_cast<int>(i), static_cast<int>(i)));
  CHECK(world.storage.have({World::name(0)}, false) == std::vector<std::uint8_t>{0});
}

TEST_CASE("chunk storage: threads ask while jobs run") {
  World world;
  world.store(0, 20);
  std::vector<std::thread> threads;
  for (int number = 0; number < 3; ++number)
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i)
        CHECK(world.storage.have({World::name(i % 20)}, false) == std::vector<std::uint8_t>{1});
    });
  for (int i = 0; i < 100; ++i) CHECK(world.run(i % 2 == 0, 0, 20) == kAll);
  for (std::thread& thread : threads) thread.join();
}

TEST_CASE("chunk storage: without memory in its thread each job and each question ends") {
  bool refused = true;
  for (long allocation = 0; refused; ++allocation) {
    REQUIRE(allocation < 2'000);
    CAPTURE(allocation);
    World world(std::chrono::seconds(60));
    world.store(0, 8);
    RefusedMemory::refuse_others(allocation);
    for (std::uint64_t job = 0; job < 6; ++job)  // several at a time, loads and stores
      world.storage.begin(100 + job, job % 3 != 0, World::chunks(job % 3 != 0 ? 0 : 20, 8));
    const auto before = std::chrono::steady_clock::now();
    const auto there = world.storage.have({World::name(0), World::name(99), World::name(1)}, true);
    CHECK(std::chrono::steady_clock::now() - before < std::chrono::seconds(30));
    CHECK(there[1] == 0);
    world.storage.drain();
    CHECK(world.storage.ended().size() == 6);
    refused = RefusedMemory::stop_others();
  }
}

TEST_CASE("chunk storage: a storage that throws a number is empty from then on") {
  World world;
  world.store(0, 20);
  world.shelf->throws_number = true;
  CHECK(world.run(true, 0, 20) == kNone);
  CHECK(world.storage.figures().flaw == "an exception that is no std::exception");
}

TEST_CASE("chunk storage: a forked child's copy is empty, and its jobs end") {
  World world;
  world.store(0, 20);
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);  // no thread of the storage is here
    const auto good = world.storage.run(true, World::chunks(0, 20)).good;
    world.storage.begin(7, false, World::chunks(0, 20));
    world.storage.drain();
    const bool empty = good == kNone && world.storage.ended().size() == 1 && !world.storage.clear() &&
                       world.storage.have({World::name(0)}, false) == std::vector<std::uint8_t>{0};
    world.storage.stop();
    ::_exit(empty ? 0 : 1);
  }
  int status = -1;
  CHECK(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(world.run(true, 0, 20) == kAll);
}

TEST_CASE("chunk storage: a second call of stop waits as well") {
  World world;
  world.store(0, 20);
  world.shelf->hold = true;
  world.storage.begin(100, true, World::chunks(0, 20));
  while (world.shelf->gets == 0) std::this_thread::yield();
  std::thread first([&] { world.storage.stop(); });
  std::thread second([&] {
    world.storage.stop();
    CHECK(world.storage.ended().size() == 1);  // the job has ended
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  world.shelf->hold = false;
  first.join();
  second.join();
}
