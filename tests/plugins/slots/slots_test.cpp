#include <canopy/base/random.h>
#include <conformance/model/effort.h>
#include <conformance/model/plugins.h>
#include <conformance/model/storage_caller.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/userfaultfd.h>
#include <program/mismatch.h>
#include <slots/folder.h>
#include <slots/slot_storage.h>
#include <slots/table_file.h>
#include <support/folder.h>
#include <support/sanitizers.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

namespace {

using namespace canopy;
using namespace canopy::test;
namespace fs = std::filesystem;
using slots::SlotStorage;
using Storage = AsyncStorage<SlotStorage>;
using Keys = StorageCaller::Keys;

constexpr std::uint64_t kRecord = 16 * 1024;
const PageKey kSpace = key_of(0xFFFFFFFF, 0);

std::size_t done_in(const std::vector<Fate>& fates) { return count_of(fates, Fate::done); }

/// A folder for storages of one context, and a way to open one.
struct Disk {
  Folder folder;
  SlotStorage::Config config;
  PageStorage::Context context;

  explicit Disk(std::uint64_t records = 256) {
    config.path = folder.path().string();
    config.capacity = records * kRecord;
    context.record_bytes = kRecord;
  }
  StorageCaller open() const { return {std::make_shared<Storage>(config, context), context, 1}; }
  /// Returns true if its file system can make slots read as zeros.
  bool wipes() const {
    const int file = ::open((folder.path() / "probe").c_str(), O_RDWR | O_CREAT, 0600);
    REQUIRE(file >= 0);
    const bool can = ::fallocate(file, 0, 0, 8192) == 0 && ::fallocate(file, FALLOC_FL_ZERO_RANGE, 0, 4096) == 0;
    ::close(file);
    return can;
  }
  bool table_is_complete() const {
    const UniqueFd table = slots::open_file(file("table"), O_RDONLY);
    slots::TableHead head;
    return slots::read_head(table.get(), head) == nullptr && head.complete != 0;
  }
  fs::path file(const char* name) const { return folder.path() / slots::folder_name(context) / name; }
};

/// Each key of the paths, asked for alone. The caller compares what it gets.
std::size_t there(StorageCaller& caller, std::uint32_t paths, std::uint32_t pages) {
  std::size_t count = 0;
  for (std::uint32_t number = 0; number < paths; ++number)
    for (const PageKey& key : path_of(number, pages)) count += done_in(caller.get_now(kSpace, {key}));
  return count;
}

/// Puts paths of four pages and ends the storage.
void fill(const Disk& disk, std::uint32_t paths) {
  StorageCaller caller = disk.open();
  for (std::uint32_t number = 0; number < paths; ++number)
    REQUIRE(done_in(caller.put_now(kSpace, path_of(number, 4))) == 4);
}

/// Runs `work` in a process of its own, which ends without the tests' own end. Its exit code, or 128 and the signal.
int in_a_process(const std::function<void()>& work, const std::function<void(pid_t)>& meanwhile = {}) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    try {
      work();
      std::_Exit(0);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
      std::_Exit(1);
    }
  }
  if (meanwhile) meanwhile(child);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

enum class Killed { yes, no, cannot };
/// Runs `work` in a process of its own, which stops itself once, and kills it `calls` entries and exits of system calls
/// later. no: it ended before that. cannot: the system lets no process be traced.
Killed killed_at(const std::function<void()>& work, int calls) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) std::_Exit(77);
    ::raise(SIGSTOP);
    try {
      work();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
    }
    std::_Exit(1);
  }
  int status = 0;
  const auto next = [&](auto request) {
    return ::ptrace(request, child, nullptr, nullptr) == 0 && ::waitpid(child, &status, 0) == child &&
           WIFSTOPPED(status);
  };
  REQUIRE(::waitpid(child, &status, 0) == child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77) return Killed::cannot;
  bool running = WIFSTOPPED(status) && next(PTRACE_CONT);  // until it stops itself
  for (int i = 0; running && i < calls; ++i) running = next(PTRACE_SYSCALL);
  if (!running) {
    REQUIRE(WIFEXITED(status));
    REQUIRE(WEXITSTATUS(status) == 0);
    return Killed::no;
  }
  ::kill(child, SIGKILL);
  REQUIRE(::waitpid(child, &status, 0) == child);
  return Killed::yes;
}

std::vector<char> slurp(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
void spill(const fs::path& file, const std::vector<char>& bytes) {
  std::ofstream(file, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

std::string why_not(const Disk& disk) {
  try {
    disk.open();
  } catch (const std::exception& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("slots: a process that is killed leaves what it had put, and nothing that is wrong") {
  for (const auto engine : {SlotStorage::Engine::io_uring, SlotStorage::Engine::threads}) {
    Disk disk(64);  // less than is put, so that slots are written again
    disk.config.engine = engine;
    Random random(7);
    for (std::uint64_t round = 0; round < with_effort(20); ++round) {
      CAPTURE(round);
      int ends[2];
      REQUIRE(::pipe(ends) == 0);
      const auto first = static_cast<std::uint32_t>(round * 100'000);
      const auto put_for_ever = [&] {
        StorageCaller caller = disk.open();
        for (std::uint32_t number = first;; ++number) {
          const std::size_t count = done_in(caller.put_now(kSpace, path_of(number, 8)));
          const std::uint32_t message[] = {number, static_cast<std::uint32_t>(count)};
          if (::write(ends[1], message, sizeof message) != sizeof message) return;
        }
      };
      const auto kill_it = [&](pid_t child) {
        std::uint32_t message[2];
        REQUIRE(::read(ends[0], message, sizeof message) == sizeof message);  // it has begun
        ::usleep(random.below(8'000));
        ::kill(child, SIGKILL);
      };
      CHECK(in_a_process(put_for_ever, kill_it) == 128 + SIGKILL);
      ::close(ends[1]);
      std::uint32_t last[2] = {first, 8}, message[2];
      while (::read(ends[0], message, sizeof message) == sizeof message) std::copy(message, message + 2, last);
      ::close(ends[0]);
      StorageCaller caller = disk.open();
      // The last paths that were put are there: 8 of them fit.
      for (std::uint32_t number = std::max(last[0], first + 5) - 5; number <= last[0]; ++number) {
        CAPTURE(number);
        CHECK(done_in(caller.get_now(kSpace, path_of(number, 8))) == 8);
      }
      // Whatever else is there is what was put: the caller compares it.
      for (std::uint32_t number = last[0] > 30 ? last[0] - 30 : 0; number < last[0] + 4; ++number)
        caller.get_now(kSpace, path_of(number, 8));
    }
  }
}

TEST_CASE("slots: a storage that ends gives back its descriptors and threads, whatever transfers its bytes") {
  const auto held = [] {
    const auto entries = [](const char* folder) {
      return std::distance(fs::directory_iterator(folder), fs::directory_iterator());
    };
    return std::pair(entries("/proc/self/fd"), entries("/proc/self/task"));
  };
  for (const auto engine : {SlotStorage::Engine::io_uring, SlotStorage::Engine::threads}) {
    Disk disk(16);
    disk.config.engine = engine;
    fill(disk, 4);
    const auto before = held();
    for (int i = 0; i < 10; ++i) fill(disk, 4);
    for (int i = 0; i < 1000 && held() != before;
         ++i)  // the kernel takes threads that have ended out of its list later
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    CHECK(held() == before);
  }
}

TEST_CASE("slots: a key that is misspelled is named, not what is missing without it") {
  const test::Folder folder;
  const auto made = plugins().make<PageStorage>("slots", {.record_bytes = 8192},
                                                "{ path: " + folder.path().string() + ", capacty: 1MiB }");
  REQUIRE_FALSE(made);
  CHECK(made.error().text.find("slots has no option 'capacty'. Did you mean 'capacity'?") != std::string::npos);
}

TEST_CASE("slots: what was put is known at the next start, also by another capacity") {
  Disk disk;
  fill(disk, 40);
  {
    StorageCaller caller = disk.open();
    CHECK(caller.storage().use().records == 160);
    CHECK(there(caller, 40, 4) == 160);
  }
  disk.config.capacity /= 4;
  {
    StorageCaller caller = disk.open();
    CHECK(caller.storage().use().capacity == 64 * kRecord);
    CHECK(caller.storage().use().records == there(caller, 40, 4));
    CHECK(caller.storage().use().records > 0);
  }
  disk.config.capacity *= 8;
  StorageCaller caller = disk.open();
  CHECK(caller.storage().use().records == there(caller, 40, 4));
  for (std::uint32_t number = 0; number < 100; ++number)
    CHECK(done_in(caller.put_now(kSpace, path_of(number, 4))) == 4);
  CHECK(there(caller, 100, 4) == 400);
}

TEST_CASE("slots: a prefix is shortened from its end, the one that was not used for longest first") {
  Disk disk(12);
  StorageCaller caller = disk.open();
  for (std::uint32_t number = 0; number < 3; ++number) caller.put_now(kSpace, path_of(number, 4));
  caller.get_now(kSpace, path_of(0, 1));
  caller.put_now(kSpace, path_of(3, 2));
  CHECK(caller.find_now(kSpace, path_of(1, 4)) == 2);
  CHECK(caller.find_now(kSpace, path_of(0, 4)) == 4);
  CHECK(caller.find_now(kSpace, path_of(2, 4)) == 4);
  // A put finds room for its new records, and its old ones stay.
  CHECK(done_in(caller.put_now(kSpace, path_of(1, 12))) == 12);
  CHECK(caller.find_now(kSpace, path_of(1, 12)) == 12);
  CHECK(caller.storage().use().records == 12);
  // More than there is room for: the first ones are kept.
  CHECK(done_in(caller.put_now(kSpace, path_of(4, 13))) == 12);
  CHECK(caller.find_now(kSpace, path_of(4, 13)) == 12);
  CHECK(done_in(caller.find_each_now(kSpace, path_of(4, 4, 10))) == 2);
  // Also where the first ones are there already, and nothing else could be given up.
  caller.storage().remove(kSpace, path_of(4, 4, 8));
  CHECK(done_in(caller.put_now(kSpace, path_of(4, 14))) == 12);
  CHECK(caller.find_now(kSpace, path_of(4, 14)) == 12);
}

TEST_CASE("slots: without its table a folder's records are found in the slots, while calls are answered") {
  Disk disk;
  fill(disk, 40);
  fs::remove(disk.file("table"));
  StorageCaller caller = disk.open();
  while (caller.storage().use().records < 160) {
    const Keys keys = path_of(39, 4);
    const std::uint32_t found = caller.find_now(kSpace, keys);
    if (found > 0) caller.get_now(kSpace, {keys.begin(), keys.begin() + found});
  }
  CHECK(there(caller, 40, 4) == 160);
  // The namespace of what was asked for is known again; what is unknown goes as well.
  REQUIRE(caller.storage().flush(kSpace));
  CHECK(there(caller, 40, 4) == 0);
  CHECK(caller.storage().use().records == 0);
}

TEST_CASE("slots: what was flushed stays away, with its table, with an older one, and without") {
  Disk disk;
  const PageKey other = key_of(0xFFFFFFFF, 1);
  const auto refill = [&] {
    fill(disk, 10);
    StorageCaller caller = disk.open();
    REQUIRE(done_in(caller.put_now(other, path_of(500, 4))) == 4);
  };
  refill();
  const auto table = slurp(disk.file("table")), slots = slurp(disk.file("slots.0"));
  REQUIRE(disk.open().storage().flush(kSpace));
  for (const bool older : {false, true}) {
    CAPTURE(older);
    if (older) spill(disk.file("table"), table), spill(disk.file("slots.0"), slots);
    StorageCaller caller = disk.open();
    CHECK(there(caller, 10, 4) == 0);
    CHECK(done_in(caller.get_now(other, path_of(500, 4))) == 4);
  }
  // Records that were put after the flush are kept.
  refill();
  StorageCaller(disk.open()).check_memory();
  {
    StorageCaller caller = disk.open();
    CHECK(there(caller, 10, 4) == 40);
  }
  // Without a table no record says whether it was flushed. So none may be left in the slots, or all are forgotten.
  fs::remove(disk.file("table"));
  StorageCaller caller = disk.open();
  const std::uint64_t known = disk.wipes() ? 44 : 0;
  while (caller.storage().use().records < known) caller.find_now(kSpace, path_of(0, 4));
  CHECK(there(caller, 10, 4) == (disk.wipes() ? 40 : 0));
  CHECK(done_in(caller.get_now(other, path_of(500, 4))) == (disk.wipes() ? 4 : 0));
}

TEST_CASE("slots: what is on its way while its namespace is flushed is not kept, and what is of another one is") {
  const Disk disk;
  const PageKey other = key_of(0xFFFFFFFF, 1);
  StorageCaller caller = disk.open();
  const std::uint64_t flushed = caller.put(kSpace, path_of(1, 8)), kept = caller.put(other, path_of(2, 8));
  REQUIRE(caller.storage().flush(kSpace));
  CHECK(caller.find_now(kSpace, path_of(1, 8)) == 0);
  caller.wait(flushed);
  CHECK(done_in(caller.wait(kept).fates) == 8);
  CHECK(caller.find_now(kSpace, path_of(1, 8)) == 0);
  CHECK(caller.find_now(other, path_of(2, 8)) == 8);
  CHECK(done_in(caller.put_now(kSpace, path_of(1, 8))) == 8);  // and from now on it is
  CHECK(caller.find_now(kSpace, path_of(1, 8)) == 8);
}

TEST_CASE("slots: a flush that is killed at any point comes undone with the table and without it, or with neither") {
  bool took_effect = false, ended = false;
  std::size_t kept = 0;
  for (int point = 0; !ended; ++point) {
    CAPTURE(point);
    REQUIRE(point < 500);
    Disk disk(64);
    const PageKey other = key_of(0xFFFFFFFF, 1);
    fill(disk, 4);
    {
      StorageCaller caller = disk.open();
      REQUIRE(done_in(caller.put_now(other, path_of(500, 4))) == 4);
      REQUIRE(done_in(caller.put_now(kSpace, path_of(4, 4))) == 4);
      caller.storage().remove(kSpace, path_of(4, 4));  // its bytes stay in slots that are free
    }
    const auto flush = [&] {
      Storage storage(disk.config, disk.context);
      ::raise(SIGSTOP);
      if (!storage.flush(kSpace)) throw std::runtime_error("the flush did not last");
      std::_Exit(0);
    };
    const Killed killed = killed_at(flush, point);
    if (killed == Killed::cannot) {
      MESSAGE("SKIPPED: no process can be traced here");
      return;
    }
    ended = killed == Killed::no;
    Disk copy(64);
    fs::copy(disk.folder.path(), copy.folder.path(),
             fs::copy_options::recursive | fs::copy_options::overwrite_existing);
    fs::remove(copy.file("table"));
    StorageCaller with_table = disk.open(), without = copy.open();
    const std::size_t found = there(with_table, 4, 4);
    CHECK(done_in(with_table.get_now(other, path_of(500, 4))) == 4);
    while (!copy.table_is_complete()) without.find_now(kSpace, path_of(0, 4));
    if (ended) kept = done_in(without.get_now(other, path_of(500, 4)));
    CHECK((found == 0 || !took_effect));
    took_effect |= found == 0;
    if (found == 0) CHECK(there(without, 5, 4) == 0);
  }
  CHECK(took_effect);
  CHECK(kept == (Disk(1).wipes() ? 4 : 0));
}

TEST_CASE("slots: damaged files cost records, never give wrong ones, and the storage goes on") {
  const auto swap_slots = [](std::vector<char>& bytes) {
    for (std::size_t at = 0; at + 2 * kRecord <= bytes.size(); at += 2 * kRecord)
      std::swap_ranges(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                       bytes.begin() + static_cast<std::ptrdiff_t>(at + kRecord),
                       bytes.begin() + static_cast<std::ptrdiff_t>(at + kRecord));
  };
  const auto zero = [](std::vector<char>& bytes) {
    std::fill(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(bytes.size() / 2), char{0});
  };
  const auto cut = [](std::vector<char>& bytes) { bytes.resize(bytes.size() / 2); };
  const auto empty = [](std::vector<char>& bytes) { bytes.clear(); };
  const auto scramble = [](std::vector<char>& bytes) {
    Random random(1);
    for (char& byte : bytes)
      if (random.one_in(500)) byte = static_cast<char>(random.below(256));
  };
  struct Damage {
    const char *name, *file;
    std::function<void(std::vector<char>&)> make;
  };
  const std::vector<Damage> damages = {
      {"swapped slots", "slots.0", swap_slots},
      {"zeroed slots", "slots.0", zero},
      {"a short file", "slots.0", cut},
      {"an empty file", "slots.0", empty},
      {"a short table", "table", cut},
      {"a scrambled table", "table", scramble},
      {"an empty table", "table", empty},
      {"zeroes in the table", "table", zero},
      {"a scrambled flush file", "flushed", scramble},
  };
  for (const Damage& damage : damages) {
    CAPTURE(damage.name);
    Disk disk(48);
    fill(disk, 12);
    {
      StorageCaller caller = disk.open();
      caller.storage().flush(key_of(0xFFFFFFFF, 9));
    }
    auto bytes = slurp(disk.file(damage.file));
    damage.make(bytes);
    spill(disk.file(damage.file), bytes);
    StorageCaller caller = disk.open();
    while (!disk.table_is_complete()) caller.find_now(kSpace, path_of(0, 4));  // slots that are not known are not free
    there(caller, 12, 4);                                                      // the caller compares
    for (std::uint32_t number = 0; number < 12; ++number)
      CHECK(done_in(caller.put_now(kSpace, path_of(number, 4))) == 4);
    CHECK(there(caller, 12, 4) == 48);
  }
}

TEST_CASE("slots: while the storage is open its file may be cut") {
  Disk disk(48);
  StorageCaller caller = disk.open();
  for (std::uint32_t number = 0; number < 12; ++number) caller.put_now(kSpace, path_of(number, 4));
  fs::resize_file(disk.file("slots.0"), 10 * kRecord);
  CHECK(there(caller, 12, 4) == 10);
  CHECK(caller.storage().use().records == 10);
}

TEST_CASE("slots: the table of another time names records that are not there any more, and they are absent") {
  Disk disk(48);
  fill(disk, 12);
  const auto table = slurp(disk.file("table"));
  {
    StorageCaller caller = disk.open();
    for (std::uint32_t number = 100; number < 109; ++number) caller.put_now(kSpace, path_of(number, 4));
  }
  spill(disk.file("table"), table);
  StorageCaller caller = disk.open();
  CHECK(caller.storage().use().records == 48);
  CHECK(there(caller, 12, 4) == 12);
  CHECK(caller.storage().use().records == 12);
}

TEST_CASE("slots: a folder that is in use cannot be reserved, and one that is reserved is not used") {
  Disk disk;
  fill(disk, 1);
  {
    const slots::Reserved reserved = slots::reserve(disk.file("."));
    CHECK(reserved.user.empty());
    CHECK(in_a_process([&] {
            if (why_not(disk).empty()) disagree("it opens a folder that is reserved");
          }) == 0);
  }
  StorageCaller caller = disk.open();
  CHECK(in_a_process([&] {
          if (slots::reserve(disk.file(".")).user.find("process ") == std::string::npos) disagree("it is reserved");
        }) == 0);
}

TEST_CASE("slots: a folder has one user, and the error for another process names it") {
  Disk disk;
  StorageCaller caller = disk.open();
  const std::string expected = "process " + std::to_string(::getpid()) + " uses this folder";
  CHECK(in_a_process([&] {
          const std::string why = why_not(disk);
          if (why.find(expected) == std::string::npos) disagree("it says: {}", why);
        }) == 0);
  Disk other;
  other.config.path = disk.config.path;
  other.context.rank = 1;
  other.context.ranks = 2;
  CHECK(why_not(other).empty());
}

TEST_CASE("slots: where the system refuses io_uring, threads move the records") {
  if (kSanitized) {
    MESSAGE("SKIPPED: a process without some system calls is none for a sanitizer");
    return;
  }
  Disk disk;
  CHECK(in_a_process([&] {
          sock_filter filter[] = {
              BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
              BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_io_uring_setup, 0, 1),
              BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
              BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
          };
          const sock_fprog program{4, filter};
          if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
            return static_cast<void>(std::fprintf(stderr, "SKIPPED: no system call can be refused here\n"));
          fill(disk, 4);
          StorageCaller caller = disk.open();
          expect_equal("records", there(caller, 4, 4), std::size_t{16});
        }) == 0);
}

TEST_CASE("slots: a disk without room for all makes the capacity smaller") {
  Disk disk(64);
  CHECK(in_a_process([&] {
          std::signal(SIGXFSZ, SIG_IGN);
          const rlimit limit{20 * kRecord + 100, 20 * kRecord + 100};
          if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) disagree("no limit");
          StorageCaller caller = disk.open();
          expect_equal("capacity", caller.storage().use().capacity, 20 * kRecord);
          for (std::uint32_t number = 0; number < 10; ++number)
            expect_equal("records", done_in(caller.put_now(kSpace, path_of(number, 4))), std::size_t{4});
        }) == 0);
  disk.config.capacity = kRecord / 2;
  CHECK(why_not(disk).find("slots needs `capacity`, at least a record of 16384 bytes") != std::string::npos);
  disk.config.path = "/proc/canopy";
  disk.config.capacity = 64 * kRecord;
  CHECK(why_not(disk).find("/proc/canopy: the folder cannot be created") != std::string::npos);
  disk.config.path = disk.file("table").string();
  CHECK(why_not(disk).find("the folder cannot be created (Not a directory)") != std::string::npos);
}

TEST_CASE("slots: a call whose time is over moves nothing more, and keeps the front of its path") {
  Disk disk;
  disk.config.depth = 1;
  disk.config.capacity = 64 << 20;
  disk.context.record_bytes = 2 << 20;
  StorageCaller caller(std::make_shared<Storage>(disk.config, disk.context), disk.context, 1, 24);
  const auto fates = caller.wait(caller.put(kSpace, path_of(1, 24), 0)).fates;
  const std::size_t kept = done_in(fates);
  CHECK(kept < 24);
  CHECK(fates.back() == Fate::late);
  CHECK(caller.find_now(kSpace, path_of(1, 24)) == kept);
  CHECK(caller.storage().use().records == kept);
  CHECK(done_in(caller.put_now(kSpace, path_of(1, 24))) == 24);
}

TEST_CASE("slots: a slot is not written while a record is read from it that was forgotten") {
  Disk disk(8);
  StorageCaller caller = disk.open();
  for (std::uint32_t number = 0; number < 50; ++number) {
    caller.put_now(kSpace, path_of(number, 8));
    const auto reading = caller.get(kSpace, path_of(number, 8));
    caller.storage().remove(kSpace, path_of(number, 8));
    const auto writing = caller.put(kSpace, path_of(1'000 + number, 8));
    caller.wait_all();  // the caller compares what was read
    caller.ended(reading);
    // No slot was free: each was being read.
    CHECK(done_in(caller.ended(writing).fates) == 0);
  }
}

TEST_CASE("slots: a flush does not wait for a transfer whose time is over") {
  // A record whose bytes the kernel cannot read for a while: its transfer stands still, as on a disk that hangs.
  const UniqueFd faults(static_cast<int>(::syscall(SYS_userfaultfd, O_CLOEXEC)));
  uffdio_api api{.api = UFFD_API, .features = 0, .ioctls = 0};
  if (!faults || ::ioctl(faults.get(), UFFDIO_API, &api) != 0) {
    MESSAGE("SKIPPED: this user may not let the kernel wait for memory (userfaultfd)");
    return;
  }
  void* const memory = ::mmap(nullptr, kRecord, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  const uffdio_range bytes{.start = reinterpret_cast<std::uintptr_t>(memory), .len = kRecord};
  uffdio_register absent{.range = bytes, .mode = UFFDIO_REGISTER_MODE_MISSING, .ioctls = 0};
  REQUIRE(::ioctl(faults.get(), UFFDIO_REGISTER, &absent) == 0);
  {
    Disk disk(8);
    disk.config.engine = SlotStorage::Engine::threads;
    Storage storage(disk.config, disk.context);
    const std::byte* const record = static_cast<const std::byte*>(memory);
    storage.put(1, kSpace, path_of(1, 1), {&record, 1}, 10'000, 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const auto began = std::chrono::steady_clock::now();
    CHECK(storage.flush(kSpace));
    CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(20));
    StorageDone done[4];
    CHECK(storage.poll(done) == 0);
    uffdio_zeropage zeros{.range = bytes, .mode = 0, .zeropage = 0};
    REQUIRE(::ioctl(faults.get(), UFFDIO_ZEROPAGE, &zeros) == 0);
    std::size_t ended = 0;
    for (int tries = 0; ended == 0 && tries < 1'000; ++tries) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      ended = storage.poll(done);
    }
    CHECK(ended == 1);
    CHECK(storage.use().records == 0);
  }
  ::munmap(memory, kRecord);
}
