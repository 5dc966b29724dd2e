/// Signals: what has been done until then is kept, and nothing is left behind.
#include <doctest/doctest.h>

#include <string>

#include "program.h"

namespace {

using namespace cli;

const std::string kReplay = "replay " + (kSource / "configs/engines/lru.yaml").string() + " --workload " +
                            (kSource / "configs/workloads/chat.yaml").string() + " --pace 50 ";

std::string feed_name(const char* of) { return std::string("interrupted-") + of + "-" + std::to_string(::getpid()); }

/// True if the process is `canopy` by now, and has a handler of the signal.
bool catches(pid_t process, int signal) {
  if (slurp("/proc/" + std::to_string(process) + "/comm") != "canopy\n") return false;
  const std::string status = slurp("/proc/" + std::to_string(process) + "/status");
  const std::size_t caught = status.find("SigCgt:");
  return caught != std::string::npos && std::stoull(status.substr(caught + 7), nullptr, 16) >> (signal - 1) & 1;
}

bool is_whole_recording(const fs::path& path) {
  const std::string bytes = slurp(path);
  return bytes.starts_with("canopyf") && bytes.size() > 4096 && (bytes.size() - 4096) % 32 == 0;
}

}  // namespace

TEST_CASE("SIGINT and SIGTERM end a served replay with its figures, and take its shared memory away") {
  const Workshop workshop;
  for (const auto& [number, status] : {std::pair(SIGINT, 130), {SIGTERM, 143}, {SIGHUP, 129}}) {
    CAPTURE(number);
    const std::string name = feed_name("serve");
    const fs::path memory = "/dev/shm/canopy-" + name, report = workshop.path / "r.json";
    Started served(workshop, "served", kReplay + "--mode timed --feed " + name + " --json " + report.string());
    REQUIRE(soon([&] { return fs::exists(memory); }));
    ::usleep(100'000);
    const Ended run = served.end(number);
    CHECK(run.status == status);
    CHECK_FALSE(fs::exists(memory));
    CHECK_MESSAGE(has(run.out, "incomplete:"), run.out);
    CHECK(has(run.out, " 0 violations"));
    CHECK_MESSAGE(has(run.err, "no report was written"), run.err);
    CHECK_FALSE(fs::exists(report));
  }
}

TEST_CASE("a recording is whole after SIGTERM, and has the first requests after SIGKILL") {
  const Workshop workshop;
  const fs::path feed = workshop.path / "run.feed", part = workshop.path / "run.feed.part";
  {
    Started recorded(workshop, "recorded", kReplay + "--record " + feed.string());
    REQUIRE(soon([&] { return fs::exists(part) && fs::file_size(part) > 4096; }));
    CHECK_FALSE(fs::exists(feed));
    // No two at a time, for one of them would be lost.
    const Ended second = run_canopy(workshop, kReplay + "--limit 3 --record " + feed.string());
    CHECK(second.status == 2);
    CHECK_MESSAGE(has(second.err, "another process records to it now"), second.err);
    const Ended run = recorded.end(SIGTERM);
    CHECK(run.status == 143);
    CHECK(is_whole_recording(feed));
    CHECK_FALSE(fs::exists(part));
  }
  const std::string old = slurp(feed);
  Started killed(workshop, "killed", kReplay + "--record " + feed.string());
  CHECK(soon([&] { return fs::exists(part) && fs::file_size(part) > 4096 + 32 * 200; }));
  CHECK(killed.end(SIGKILL).status == -SIGKILL);
  CHECK(is_whole_recording(part));
  CHECK(slurp(feed) == old);
}

TEST_CASE("SIGINT ends a demo, a bench and top as well") {
  const Workshop workshop;
  {
    Ended run;
    // On a busy machine a demo may end before the signal.
    for (int tries = 0; tries < 5 && run.status != 130; ++tries) {
      Started demo(workshop, "demo", "demo");
      REQUIRE(soon([&] { return catches(demo.pid(), SIGINT); }));
      run = demo.end(SIGINT);
    }
    CHECK(run.status == 130);
    CHECK_MESSAGE(has(run.out, "incomplete:"), run.out);
    CHECK_MESSAGE(has(run.err, "canopy: SIGINT stopped the run after "), run.err);
  }
  const std::string name = feed_name("top");
  Started served(workshop, "served", kReplay + "--feed " + name);
  REQUIRE(soon([&] { return run_canopy(workshop, "top --once --feed " + name).status == 0; }));
  Started top(workshop, "top", "top --feed " + name);
  CHECK(soon([&] { return has(slurp(workshop.path / "top.out"), "Hottest prefixes"); }));
  CHECK(top.end(SIGINT).status == 130);
  served.end(SIGTERM);

  const fs::path json = workshop.path / "b.json";
  Started bench(workshop, "bench", "bench --quick --json " + json.string());
  ::usleep(700'000);
  const Ended stopped = bench.end(SIGINT);
  CHECK(stopped.status == 130);
  CHECK_MESSAGE(has(stopped.out, "Incomplete: the bench was stopped"), stopped.out);
  CHECK_FALSE(fs::exists(json));
}
