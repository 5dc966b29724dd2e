/// `canopy-slots` over a folder that a replay has left.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include "program.h"

using namespace cli;

namespace {

/// Replays prompts that go round through a pool, a tier and slots in the workshop's folder `records`.
Ended replay_with_slots(const Workshop& workshop) {
  const std::string engine = workshop.file("engine.yaml", fmt::format(R"(
page_size: 16
model: {{ name: m, revision: r1, dtype: bf16 }}
groups:
  full: {{ capacity: 4800, allocator: free_list, eviction: lru }}
store: {{ host: {{ layers: 1, streams: {{ k: 64 }} }} }}
tiers:
  host: {{ capacity: 9600 }}
  storage: {{ in: {{ slots: {{ path: {}, capacity: 8MiB }} }}, write: through, bandwidth: 1GB/s }}
)",
                                                                      (workshop.path / "records").string()));
  const std::string workload = workshop.file("workload.yaml", R"(
seed: 6
requests: 40
mix:
  - thrash: { working_set_tokens: 20000, prompt_tokens: 2000 }
)");
  return run_canopy(workshop, "replay " + engine + " --workload " + workload);
}

Ended slots(const Workshop& workshop, const std::string& arguments) { return run(workshop, "canopy-slots", arguments); }

/// The one folder of a model and rank.
fs::path folder_in(const Workshop& workshop) { return fs::directory_iterator(workshop.path / "records")->path(); }

}  // namespace

TEST_CASE("canopy-slots shows what slots kept, and finds a byte that changed") {
  const Workshop workshop;
  const Ended replayed = replay_with_slots(workshop);
  REQUIRE_MESSAGE(replayed.status == 0, replayed.err);
  const std::string records = (workshop.path / "records").string(), one = folder_in(workshop).string();

  for (const std::string& path : {records, one}) {
    const Ended listed = slots(workshop, "ls " + path);
    CHECK(listed.status == 0);
    CHECK_MESSAGE(has(listed.out, " records of 8.0 KiB in 1,024 slots"), listed.out);
    CHECK_MESSAGE(has(listed.out, "namespace"), listed.out);
  }
  const Ended right = slots(workshop, "check " + records);
  CHECK(right.status == 0);
  CHECK_MESSAGE(has(right.out, " 0 damaged, 0 replaced by others"), right.out);

  {
    std::fstream slots(folder_in(workshop) / "slots.0", std::ios::binary | std::ios::in | std::ios::out);
    slots.seekp(4'100);  // in the image of slot 0
    slots.put('\x5A');
  }
  const Ended damaged = slots(workshop, "check " + records);
  CHECK(damaged.status == 1);
  CHECK_MESSAGE(has(damaged.out, " 1 damaged"), damaged.out);
  CHECK_MESSAGE(has(damaged.out, "its image is damaged: 1 record, the first in slot 0"), damaged.out);

  // A folder that is in use is listed, and not checked.
  const int lock = ::open((folder_in(workshop) / "lock").c_str(), O_RDONLY | O_CLOEXEC);
  REQUIRE(::flock(lock, LOCK_EX) == 0);
  CHECK(slots(workshop, "ls " + records).status == 0);
  const Ended used = slots(workshop, "check " + records);
  CHECK(used.status == 2);
  CHECK_MESSAGE(has(used.err, "another process writes here"), used.err);
  ::close(lock);
}

TEST_CASE("canopy-slots says what is wrong with a folder that it cannot read") {
  const Workshop workshop;
  fs::create_directories(workshop.path / "empty");
  const std::string folder = (workshop.path / "empty").string();
  for (const char* verb : {"ls ", "check "}) {
    const Ended none = slots(workshop, std::string(verb) + folder);
    CHECK(none.status == 2);
    CHECK_MESSAGE(has(none.err, "has no folder of the storage slots"), none.err);
    const Ended absent = slots(workshop, std::string(verb) + folder + "/absent");
    CHECK(absent.status == 2);
    CHECK_MESSAGE(has(absent.err, "cannot be read (No such file or directory)"), absent.err);
  }
  workshop.file("empty/table", "no table");
  const Ended bad = slots(workshop, "ls " + folder);
  CHECK(bad.status == 2);
  CHECK_MESSAGE(has(bad.err, "table: cannot be used: it ends in its head"), bad.err);
  workshop.file("empty/table", std::string(5'000, 'x'));
  CHECK(has(slots(workshop, "check " + folder).err, "cannot be used: it is not a table"));
}
