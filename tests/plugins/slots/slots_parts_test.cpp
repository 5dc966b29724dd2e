#include <canopy/base/random.h>
#include <conformance/model/effort.h>
#include <conformance/model/storage_caller.h>
#include <slots/call.h>
#include <slots/device.h>
#include <slots/folder.h>
#include <slots/free_slots.h>
#include <slots/records.h>
#include <slots/runs.h>
#include <slots/slot_files.h>
#include <slots/table_file.h>
#include <support/address_limit.h>
#include <support/folder.h>
#include <support/sanitizers.h>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <set>
#include <thread>
#include <vector>

namespace {

using namespace canopy;
using namespace canopy::slots;

/// A call of `records` records of 4096 bytes whose transfers are planned over a folder's files.
struct Planned {
  test::Folder folder;
  SlotFiles files{folder.path().string(), {4096, 64}, false};
  std::vector<std::byte> memory = std::vector<std::byte>(64 * 8192);
  Call call;

  explicit Planned(std::vector<Slot> slots) {
    call.kind = Call::Kind::get;
    call.keys.resize(slots.size());
    call.fates.resize(slots.size());
    call.reset();
    call.slots = std::move(slots);
    for (std::size_t i = 0; i < call.keys.size(); ++i) call.records.push_back(memory.data() + i * 8192);
    call.plan(files, false);
  }
  Slot end(std::size_t transfer, std::int64_t result) {
    ++call.begun;
    call.transfers[transfer].result = result;
    return call.account(call.transfers[transfer]);
  }
};

}  // namespace

TEST_CASE("free slots are handed out as neighbours, from the smallest run that suffices") {
  FreeSlots free;
  std::set<Slot> expected;
  Random random(1);
  const auto add = [&](Slot slot) {
    free.add(slot, 1);
    expected.insert(slot);
  };
  for (Slot slot = 0; slot < 100; ++slot) add(slot);
  const auto all = free.take(1'000);
  CHECK(all.first == 0);
  CHECK(all.count == 100);
  CHECK(free.size() == 0);
  expected.clear();
  for (const Slot slot : {5U, 7U, 6U, 20U, 21U, 40U, 41U, 42U, 43U}) add(slot);
  const auto two = free.take(2);
  CHECK(two.first == 20);
  CHECK(two.count == 2);
  const auto three = free.take(3);
  CHECK(three.first == 5);
  CHECK(three.count == 3);
  expected = {40, 41, 42, 43};
  for (std::uint64_t i = 0; i < test::with_effort(2'000); ++i) {
    const Slot slot = random.below(300);
    if (!expected.contains(slot) && random.one_in(2)) add(slot);
    if (free.size() > 0 && random.one_in(6)) {
      const auto taken = free.take(1 + random.below(8));
      REQUIRE(taken.count > 0);
      for (Slot at = taken.first; at < taken.first + taken.count; ++at) REQUIRE(expected.erase(at) == 1);
    }
    REQUIRE(free.size() == expected.size());
  }
}

TEST_CASE("runs are given up from their ends, and one that another run continues after that one") {
  Runs runs(100);
  const auto put = [&](std::uint64_t number, RunIndex parent, Slot first) {
    const RunIndex run = runs.begin(number, parent);
    for (Slot slot = first; slot < first + 3; ++slot) runs.append(run, slot);
    return run;
  };
  const RunIndex root = put(1, kNoRun, 0), other = put(2, kNoRun, 10), child = put(3, root, 20);
  // `other` is the oldest, since `root` was used when it was continued.
  std::vector<Slot> order;
  const auto give_up = [&](int count) {
    for (; count > 0; --count) {
      order.push_back(runs.victim());
      runs.remove(order.back());
    }
  };
  give_up(2);
  CHECK(order == std::vector<Slot>{12, 11});
  runs.use(other);
  order.clear();
  give_up(7);
  CHECK(order == std::vector<Slot>{22, 21, 20, 2, 1, 0, 10});
  CHECK(runs.victim() == kNoSlot);
  // A run that takes the place of one that has ended is not taken for its children's parent.
  const RunIndex again = put(4, kNoRun, 30);
  CHECK((again == other || again == root || again == child));
  // A record that leaves from the middle does not end its run.
  runs.remove(31);
  order.clear();
  give_up(2);
  CHECK(order == std::vector<Slot>{32, 30});
}

TEST_CASE("runs that a table names are in the order of their last put, each before those that it continues") {
  // number and parent by slot
  const std::vector<std::pair<std::uint64_t, std::uint64_t>> numbers = {{1, 0}, {2, 0}, {3, 1}, {4, 9}};
  Runs runs(4);
  runs.restore({0, 1, 2, 3}, [&](Slot slot) { return numbers[slot]; });
  std::vector<Slot> order;
  for (Slot slot = runs.victim(); slot != kNoSlot; slot = runs.victim()) {
    order.push_back(slot);
    runs.remove(slot);
  }
  CHECK(order == std::vector<Slot>{1, 2, 0, 3});
}

TEST_CASE("what has been moved of a transfer is left out of the rest, wherever it was cut") {
  std::vector<std::byte> memory(24);
  const std::size_t lengths[] = {4, 8, 12};
  for (std::uint64_t first = 1; first < memory.size(); ++first)
    for (std::uint64_t second = 1; first + second <= memory.size(); ++second) {
      CAPTURE(first);
      CAPTURE(second);
      std::vector<iovec> pieces;
      for (std::size_t at = 0; const std::size_t length : lengths) {
        pieces.push_back({memory.data() + at, length});
        at += length;
      }
      Transfer transfer{.offset = 100, .pieces = pieces.data(), .count = 3, .bytes = memory.size()};
      std::uint64_t moved = 0;
      for (const std::uint64_t more : {first, second}) {
        moved += more;
        REQUIRE(goes_on(transfer, more) == (moved < memory.size()));
        if (moved == memory.size()) break;
        REQUIRE(transfer.offset == 100 + moved);
        std::vector<std::byte*> left, rest;
        for (std::uint32_t piece = 0; piece < transfer.count; ++piece)
          for (std::size_t i = 0; i < transfer.pieces[piece].iov_len; ++i)
            left.push_back(static_cast<std::byte*>(transfer.pieces[piece].iov_base) + i);
        for (std::size_t i = moved; i < memory.size(); ++i) rest.push_back(memory.data() + i);
        REQUIRE(left == rest);
      }
    }
}

TEST_CASE("slots that are neighbours are read at once") {
  const Planned planned({3, 4, 5, 9, kNoSlot, 10, 11});
  REQUIRE(planned.call.transfers.size() == 3);
  CHECK(planned.call.transfers[0].records == 3);
  CHECK(planned.call.transfers[0].bytes == 3 * 4096);
  CHECK(planned.call.transfers[1].offset == 9 * 4096);
  CHECK(planned.call.transfers[2].first_record == 5);
}

TEST_CASE("where a read of several records fails, each is read alone, and the slot that fails is known") {
  Planned planned({3, 4, 5});
  CHECK(planned.end(0, -EIO) == kNoSlot);
  REQUIRE(planned.call.is_unsure());
  planned.call.plan(planned.files, true);
  REQUIRE(planned.call.transfers.size() == 3);
  CHECK(planned.end(0, 4096) == kNoSlot);
  CHECK(planned.end(1, -EIO) == 4);
  CHECK(planned.end(2, 0) == kNoSlot);  // the file ends
  CHECK(!planned.call.is_unsure());
  CHECK(planned.call.fates == std::vector<Fate>{Fate::done, Fate::failed, Fate::absent});
}

TEST_CASE("a folder without room for one record stays empty") {
  const test::Folder folder;
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  const auto ignored = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit few{2048, before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &few) == 0);
  CHECK_THROWS(SlotFiles(folder.path().string(), {4096, 64}, false));
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, ignored);
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("slots: a transfer of a file that is opened may wait") {
  const test::Folder folder;
  const UniqueFd file = open_file((folder.path() / "file").string(), O_RDWR | O_CREAT);
  CHECK((::fcntl(file.get(), F_GETFL) & O_NONBLOCK) == 0);
}

TEST_CASE("slots count as wiped only where the file system can write zeroes") {
  const test::Folder folder;
  const std::string in_memory = "/dev/shm/canopy-wipe-" + std::to_string(::getpid());  // tmpfs, which cannot
  for (const std::string& path : {folder.path().string(), in_memory}) {
    std::error_code none;
    std::filesystem::create_directories(path, none);
    if (none) continue;
    {
      const std::string beside = path + "/beside";
      const UniqueFd file(::open(beside.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
      const bool can = ::fallocate(file.get(), 0, 0, 4096) == 0 &&
                       ::fallocate(file.get(), FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE, 0, 4096) == 0;
      const SlotFiles files(path, {4096, 4}, false);
      CHECK(files.wipe(0, 1) == can);
    }
    std::filesystem::remove_all(path);
  }
}

TEST_CASE("a put that finds the disk full ends as full, and its slot is not tried again") {
  Planned planned({3});
  planned.call.transfers[0].write = true;
  CHECK(planned.end(0, -ENOSPC) == 3);
  CHECK(fate_of(planned.call.fates) == Fate::full);
}

TEST_CASE("a slot that was retired is not taken again, and one that is read not before that has ended") {
  const test::Folder folder;
  TableFile table(folder.at("table"), {4096, 4}, {});
  const FlushedSpaces flushed(folder.at("flushed"));
  Records records(table, flushed, {4096, 4}, false);
  std::vector<Slot> taken;
  records.take(4, 0, taken);
  REQUIRE(taken == std::vector<Slot>{0, 1, 2, 3});
  records.retire(2);
  for (const Slot slot : {2U, 3U}) records.give_back(slot);
  CHECK(records.retired() == 1);
  auto run = records.begin_run(kNoSlot);
  run.keep(0, test::key_of(1, 0), test::key_of(0, 0), true);
  run.keep(1, test::key_of(1, 1), test::key_of(0, 0), true);
  records.hold(1);
  records.forget(1);
  taken.clear();
  records.take(4, records.mark(), taken);  // gives up what is in slot 0
  CHECK(taken == std::vector<Slot>{3, 0});
  CHECK(records.count() == 0);
  records.let_go(1);
  taken.clear();
  records.take(4, records.mark(), taken);
  CHECK(taken == std::vector<Slot>{1});
}

TEST_CASE("records that a scan finds in slots one behind the other are one path, which loses its end first") {
  const test::Folder folder;
  TableFile table(folder.at("table"), {4096, 6}, {});
  const FlushedSpaces flushed(folder.at("flushed"));
  Records records(table, flushed, {4096, 6}, true);
  std::vector<RecordHead> heads(6);
  const auto head = [&](Slot slot, const PageKey& key, const PageKey& parent) {
    heads[slot].magic = RecordHead::kMagic;
    heads[slot].key = key, heads[slot].parent = parent;
  };
  const PageKey space = test::key_of(0, 0);
  for (std::uint32_t i = 0; i < 4; ++i) head(i, test::key_of(1, i), i == 0 ? space : test::key_of(1, i - 1));
  head(5, test::key_of(2, 0), space);
  records.scanned(0, heads);
  CHECK(records.count() == 5);
  for (std::uint32_t i = 0; i < 4; ++i) CHECK(records.find(test::key_of(1, i)) == i);
  const Slot used = records.find(test::key_of(2, 0));
  records.use({&used, 1}, space);
  std::vector<Slot> taken;
  records.take(3, records.mark(), taken);
  CHECK(std::set<Slot>(taken.begin(), taken.end()) == std::set<Slot>{2, 3, 4});
  CHECK(records.find(test::key_of(1, 1)) == 1);
  CHECK(records.find(test::key_of(2, 0)) == 5);
}

TEST_CASE("what was flushed is covered up to its latest run, and nothing that came after it") {
  const test::Folder folder;
  FlushedSpaces flushed(folder.at("flushed"));
  CHECK_FALSE(flushed.covers(0, 1));
  REQUIRE(flushed.add(7, 3));
  REQUIRE(flushed.add(8, 5));
  for (const FlushedSpaces& now : {flushed, FlushedSpaces(folder.at("flushed"))}) {
    CHECK(now.covers(7, 3));
    CHECK_FALSE(now.covers(7, 4));
    CHECK(now.covers(8, 5));
    CHECK_FALSE(now.covers(9, 1));
    CHECK(now.covers(0, 5));  // a space that is not known
    CHECK_FALSE(now.covers(0, 6));
  }
}

TEST_CASE("a file of flushes that cannot be read is an error, for what follows must not be cut off") {
  CHECK_THROWS_WITH(FlushedSpaces("/proc/self/mem"), "/proc/self/mem: cannot be read (Input/output error)");
}

TEST_CASE("a flush is durable behind a damaged line, behind one that was cut short, and in a file that was compacted") {
  const test::Folder folder;
  const std::string path = folder.at("flushed");
  const auto flush = [&](std::uint64_t space, std::uint64_t run) {
    FlushedSpaces flushed(path);
    REQUIRE(flushed.add(space, run));
  };
  flush(7, 3);
  flush(8, 5);
  {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(27) << '!';  // in the second line
  }
  flush(9, 6);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) + 5);
  flush(10, 7);
  {
    const FlushedSpaces flushed(path);
    CHECK(flushed.covers(7, 3));
    CHECK_FALSE(flushed.covers(8, 5));
    CHECK(flushed.covers(9, 6));
    CHECK(flushed.covers(10, 7));
    CHECK(flushed.may_be_left());
  }
  FlushedSpaces many(path);
  for (std::uint64_t run = 8; run < 1'200; ++run) REQUIRE(many.add(7, run));
  many.compact();
  CHECK(std::filesystem::file_size(path) < 200);
  REQUIRE(many.add(11, 1'200));
  const FlushedSpaces flushed(path);
  CHECK(flushed.covers(7, 1'199));
  CHECK(flushed.covers(10, 7));
  CHECK(flushed.covers(11, 1'200));
}

TEST_CASE("a device has as many threads as the system allows, and without any it is refused") {
  if (test::kSanitized) {
    MESSAGE("SKIPPED: a sanitizer cannot run with an address limit");
    return;
  }
  // libc keeps the stacks of threads that ended and starts new threads on them; these take what earlier tests left.
  std::vector<std::jthread> holders;
  for (int i = 0; i < 16; ++i)
    holders.emplace_back([](const std::stop_token& stop) {
      while (!stop.stop_requested()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    });
  int refused = 0, made = 0;
  for (const std::uint64_t mib : std::initializer_list<std::uint64_t>{0, 20, 60, 1000}) {  // a stack has 8 MiB
    const test::AddressLimit limit(mib << 20);
    try {
      const auto device = thread_device(-1, 8, 16);
      ++made;
    } catch (const std::runtime_error& error) {
      CHECK(std::string(error.what()) == "the system starts no thread for its reads and writes");
      ++refused;
    }
  }
  CHECK(refused > 0);
  CHECK(made > 0);
}

TEST_CASE("a disk without room for all slots has room for the table of those that fit") {
  constexpr int kNoDisk = 77;
  const test::Folder folder;
  const auto path = folder.path().string();
  const pid_t child = ::fork();
  if (child == 0) {  // a disk of 1 MiB that only this process sees
    if ((::unshare(CLONE_NEWNS) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) ||
        ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("none", path.c_str(), "tmpfs", 0, "size=1m") != 0)
      ::_exit(kNoDisk);
    try {
      for (int opened = 0; opened < 2; ++opened) {
        const SlotFiles files(path, {4096, 10'000}, false);
        const TableFile table(path + "/table", files.shape(), {.record_bytes = 4096});
        if (files.shape().slots < 200 || files.shape().slots > 255) ::_exit(2);
      }
      ::_exit(0);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
      ::_exit(1);
    }
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kNoDisk) MESSAGE("SKIPPED: this user may mount no disk in memory");
  else CHECK(WEXITSTATUS(status) == 0);
}
