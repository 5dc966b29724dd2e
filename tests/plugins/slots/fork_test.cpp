/// A process with slots forks: its storage stays its own.
#include <conformance/model/plugins.h>
#include <conformance/model/storage_caller.h>
#include <slots/folder.h>
#include <slots/slot_storage.h>
#include <support/folder.h>
#include <support/forked_storage.h>

#include <doctest/doctest.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <functional>
#include <string>

using namespace canopy;
using namespace canopy::test;

namespace {

constexpr PageStorage::Context kContext{.record_bytes = 16 * 1024};
const PageKey kSpace = key_of(0xFFFFFFFF, 0);

StorageCaller open_in(const test::Folder& folder, const std::string& more) {
  return {make<PageStorage>("slots", kContext, "{ path: " + folder.path().string() + ", capacity: 4MiB" + more + " }"),
          kContext, 1};
}

}  // namespace

TEST_CASE("slots: a forked child leaves the storage to its parent, with what is under way") {
  for (const std::string engine : {"io_uring", "threads"}) {
    CAPTURE(engine);
    const test::Folder folder;
    const auto closed = [before = open_descriptors()] { return open_descriptors() == before; };
    {
      StorageCaller caller = open_in(folder, ", engine: " + engine);
      CHECK(count_of(caller.put_now(kSpace, path_of(1, 8)), Fate::done) == 8);
      const std::uint64_t put = caller.put(kSpace, path_of(2, 8)), get = caller.get(kSpace, path_of(1, 8));
      CHECK(is_left_to_its_parent(caller, kSpace, closed));
      CHECK(count_of(caller.wait(put).fates, Fate::done) == 8);
      CHECK(count_of(caller.wait(get).fates, Fate::done) == 8);
      CHECK(count_of(caller.put_now(kSpace, path_of(3, 8)), Fate::done) == 8);
    }
    StorageCaller caller = open_in(folder, "");
    for (std::uint32_t path = 1; path <= 3; ++path)
      CHECK(count_of(caller.get_now(kSpace, path_of(path, 8)), Fate::done) == 8);
  }
}

TEST_CASE("slots: a forked child leaves the scan of the slots to its parent") {
  const test::Folder folder;
  CHECK(count_of(open_in(folder, "").put_now(kSpace, path_of(1, 8)), Fate::done) == 8);
  std::filesystem::remove(folder.path() / slots::folder_name(kContext) / "table");
  const auto closed = [before = open_descriptors()] { return open_descriptors() == before; };
  StorageCaller caller = open_in(folder, "");
  CHECK(is_left_to_its_parent(caller, kSpace, closed));
  while (caller.find_now(kSpace, path_of(1, 8)) < 8) {
  }
  CHECK(count_of(caller.get_now(kSpace, path_of(1, 8)), Fate::done) == 8);
}

TEST_CASE("slots: a folder is free when its process is killed, although a child that it forked lives on") {
  const test::Folder folder;
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  const pid_t user = ::fork();
  if (user == 0) {
    const StorageCaller caller = open_in(folder, "");
    const pid_t sleeper = ::fork();
    if (sleeper == 0) {
      ::alarm(60);
      for (;;) ::pause();
    }
    const bool has_written = ::write(ends[1], &sleeper, sizeof sleeper) == sizeof sleeper;
    ::kill(has_written ? ::getpid() : 0, SIGKILL);
  }
  pid_t sleeper = 0;
  CHECK(::read(ends[0], &sleeper, sizeof sleeper) == sizeof sleeper);
  ::waitpid(user, nullptr, 0);
  CHECK_NOTHROW(open_in(folder, ""));
  if (sleeper > 0) ::kill(sleeper, SIGKILL);
  for (const int end : ends) ::close(end);
}
