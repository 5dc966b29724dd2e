/// Memory that is refused to a storage: a call throws, or ends, and what is read is right.
#include <conformance/model/plugins.h>
#include <conformance/model/storage_caller.h>
#include <slots/folder.h>
#include <slots/slot_storage.h>
#include <support/folder.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <thread>

namespace {

/// While `g_asks` is set: allocations of this thread until some are refused, and how many of those are left.
thread_local bool g_asks = false;
thread_local long g_before = -1, g_refused = 0;
/// All allocations of other threads than the test's are refused.
std::atomic<bool> g_others_refused{false};
thread_local bool g_is_the_tests = false;

void* allocate(std::size_t bytes) {
  if (g_others_refused && !g_is_the_tests) return nullptr;
  if (g_asks && g_before == 0 && g_refused > 0) {
    --g_refused;
    return nullptr;
  }
  if (g_asks && g_before > 0) --g_before;
  return std::malloc(bytes ? bytes : 1);
}

}  // namespace

[[gnu::noinline]] void* operator new(std::size_t bytes) {
  if (void* const memory = allocate(bytes)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return allocate(bytes); }
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace {

using namespace canopy;
using namespace canopy::test;
using slots::SlotStorage;

constexpr PageStorage::Context kSmallContext{.record_bytes = 4096};

std::shared_ptr<PageStorage> slots_in(const test::Folder& folder) {
  SlotStorage::Config config;
  config.path = folder.path().string();
  config.capacity = 16 * 4096;
  config.engine = SlotStorage::Engine::threads;
  config.threads = 1;
  config.direct = false;
  return std::make_shared<AsyncStorage<SlotStorage>>(config, kSmallContext);
}

/// A storage of 16 records, called by a thread whose allocations are refused during the calls.
class Life {
 public:
  Life(std::shared_ptr<PageStorage> storage, long before, long refused)
      : memory_(16 * 4096 + 4096), storage_(std::move(storage)) {
    g_before = before, g_refused = refused;
  }
  void run() {
    for (std::uint32_t path = 0; path < 6; ++path) {
      const PageKey space = key_of(0xFFFFFFFF, path % 2);
      put(space, path_of(path, 4));
      get(space, path_of(path, 4));
      get(space, path_of(path / 2, 4));
      const auto keys = path_of(path, 4);
      call([&] { storage_->find_each(++ticket_, space, keys, 1'000'000); });
      if (path % 3 == 1) call([&] { storage_->remove(space, {keys.data() + 2, 2}); });
      if (path == 3) {  // waits for the disk
        call([&] { storage_->flush(space); });
        get(space, keys);
        CHECK(done_ == 0);
      }
    }
  }
  /// Puts a path while all allocations are refused after some. Returns the records of the paths before that are left.
  std::size_t left_by_a_put_without_memory(long before) {
    constexpr std::uint32_t kPaths = 4;
    const PageKey space = key_of(0xFFFFFFFF, 0);
    for (std::uint32_t path = 0; path < kPaths; ++path) put(space, path_of(path, 4));
    g_before = before, g_refused = 1'000'000;
    const auto keys = path_of(kPaths, 4);
    std::vector<const std::byte*> records;
    for (std::size_t i = 0; i < keys.size(); ++i) records.push_back(record(i));
    const bool began = call([&] { storage_->put(++ticket_, space, keys, records, 1'000'000, 0); });
    g_refused = 0;
    if (began) wait(ticket_);
    std::size_t left = 0;
    for (std::uint32_t path = 0; path < kPaths; ++path) {
      get(space, path_of(path, 4));
      left += done_;
    }
    return left;
  }
  std::uint64_t lacked() const { return storage_->use().lacked; }
  /// Returns true if all of a new path is kept and read when there is memory.
  bool serves() {
    g_refused = 0;
    put(key_of(0xFFFFFFFF, 7), path_of(100, 4));
    const bool kept = done_ == 4;
    get(key_of(0xFFFFFFFF, 7), path_of(100, 4));
    return kept && done_ == 4;
  }

 private:
  template <class Call>
  bool call(Call&& call) {
    g_asks = true;
    bool came_back = false;
    try {
      call();
      came_back = true;
    } catch (const std::bad_alloc&) {
    }
    g_asks = false;
    return came_back;
  }
  std::byte* record(std::size_t i) {
    const auto at = (reinterpret_cast<std::uintptr_t>(memory_.data()) + 4095) / 4096 * 4096;
    return reinterpret_cast<std::byte*>(at) + i * 4096;
  }
  static std::byte pattern(const PageKey& key) { return static_cast<std::byte>(key.bits[1] * 31 + key.bits[0]); }
  void put(const PageKey& space, const std::vector<PageKey>& keys) {
    std::vector<const std::byte*> records;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      std::memset(record(i), std::to_integer<int>(pattern(keys[i])), 4096);
      records.push_back(record(i));
    }
    if (call([&] { storage_->put(++ticket_, space, keys, records, 1'000'000, 0); })) wait(ticket_);
  }
  void get(const PageKey& space, const std::vector<PageKey>& keys) {
    std::vector<std::byte*> records;
    for (std::size_t i = 0; i < keys.size(); ++i) records.push_back(record(i));
    done_ = 0;
    if (!call([&] { storage_->get(++ticket_, space, keys, records, 1'000'000); })) return;
    const std::vector<Fate> fates = wait(ticket_);
    for (std::size_t i = 0; i < fates.size(); ++i)
      if (fates[i] == Fate::done)
        CHECK(std::all_of(record(i), record(i) + 4096, [&](std::byte byte) { return byte == pattern(keys[i]); }));
  }
  /// Waits for the end of a call. What ends beside it is a find_each.
  std::vector<Fate> wait(std::uint64_t ticket) {
    std::vector<Fate> fates;
    bool ended = false;
    std::array<StorageDone, 8> done;
    for (int polls = 0; !ended && polls < 20'000; ++polls) {
      std::size_t count = 0;
      call([&] { count = storage_->poll(done); });
      for (std::size_t i = 0; i < count; ++i)
        if (done[i].ticket == ticket) ended = true, fates.assign(done[i].fates.begin(), done[i].fates.end());
      if (!ended) std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    REQUIRE(ended);
    done_ = count_of(fates, Fate::done);
    return fates;
  }

  std::vector<std::byte> memory_;
  std::shared_ptr<PageStorage> storage_;
  std::uint64_t ticket_ = 0;
  std::size_t done_ = 0;
};

}  // namespace

TEST_CASE("storages: memory that is refused costs records, and never a call's end or a wrong record") {
  for (const std::string name : {"slots", "sim_storage"}) {
    std::size_t serve = 0, lives = 0;
    for (const long refused : {1, 3})
      for (long before = 0;; before += refused * refused, ++lives) {
        CAPTURE(name);
        CAPTURE(refused);
        CAPTURE(before);
        REQUIRE(before < 10'000);
        const test::Folder folder;
        Life life(name == "slots" ? slots_in(folder) : make<PageStorage>(name, kSmallContext, "{ capacity: 64KiB }"),
                  before, refused);
        life.run();
        const bool reached = g_refused < refused;
        serve += life.serves();
        if (!reached) break;
      }
    CHECK(lives > 50);
    CHECK(serve == lives + 2);
  }
}

TEST_CASE("slots: a put without memory gives up only the records in whose place it would be") {
  std::uint64_t lacked = 0;
  for (long before = 0; before < 40; ++before) {
    CAPTURE(before);
    const test::Folder folder;
    Life life(slots_in(folder), 0, 0);
    CHECK(life.left_by_a_put_without_memory(before) >=
          11);  // all of 16 but four for the put, and one that cannot be freed
    lacked += life.lacked();
  }
  CHECK(lacked > 0);
}

TEST_CASE("slots: a scan of the slots waits for memory") {
  const test::Folder folder;
  {
    Life life(slots_in(folder), 0, 0);
    CHECK(life.serves());
  }
  std::filesystem::remove(folder.path() / slots::folder_name(kSmallContext) / "table");
  const slots::SlotFiles files(folder.path() / slots::folder_name(kSmallContext), {4096, 16}, false);
  g_is_the_tests = true;
  g_others_refused = true;
  slots::HeadScan scan(files);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK(scan.take().empty());
  g_others_refused = false;
  for (int tries = 0; !scan.has_ended() && tries < 1'000; ++tries) {
    scan.take();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  CHECK(scan.has_ended());
}
