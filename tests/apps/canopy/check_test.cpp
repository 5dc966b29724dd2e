#include <doctest/doctest.h>

#include <cstdlib>

#include "program.h"

using namespace cli;

namespace {

/// `canopy-dev check` in a folder of its own, where it writes what it finds.
Ended check(const Workshop& workshop, const std::string& arguments) {
  const fs::path before = fs::current_path();
  fs::current_path(workshop.path);
  const Ended ended = run_canopy(workshop, "check " + arguments);
  fs::current_path(before);
  return ended;
}

}  // namespace

TEST_CASE("check: clean engines end with 0 and write nothing") {
  const Workshop workshop;
  const Ended ended = check(workshop, "--seed 9 --ops 8000 --jobs 2");
  CHECK_MESSAGE(ended.status == 0, (ended.out + ended.err));
  CHECK(has(ended.out, "no violation, seed 9, digest "));
  CHECK_FALSE(fs::exists(workshop.path / "canopy-check-9.txt"));
  const Ended again = check(workshop, "--seed 9 --ops 8000 --jobs 1");
  CHECK(again.out.substr(again.out.find("no violation")) == ended.out.substr(ended.out.find("no violation")));
}

TEST_CASE("check: the engines of configs stay whole") {
  const Workshop workshop;
  std::string all;
  for (const auto& file : fs::directory_iterator(kSource / "configs/engines"))
    all += " --config " + file.path().string();
  const Ended ended = check(workshop, "--ops 200000" + all);
  CHECK_MESSAGE(ended.status == 0, (ended.out + ended.err));
}

TEST_CASE("check: a wrong plugin is found with 1, and the file that is written repeats it") {
  const Workshop workshop;
  const fs::path plugins = workshop.path / "plugins";
  fs::create_directories(plugins);
  fs::permissions(plugins, fs::perms::owner_all);
  fs::copy(kBin.parent_path() / "bad_plugins/broken_allocators.so", plugins);
  const std::string engine = workshop.file(
      "engine.yaml",
      "page_size: 1\ngroups: { full: { reach: path, capacity: 300, allocator: twice, eviction: lru } }\n");
  const std::string with = "--plugins " + plugins.string() + " ";
  const Ended found = check(workshop, with + "--seed 3 --ops 100000 --config " + engine);
  CHECK_MESSAGE(found.status == 1, (found.out + found.err));
  CHECK(has(found.out, "canopy-dev check --replay canopy-check-3.txt runs it again"));
  const std::string text = slurp(workshop.path / "canopy-check-3.txt");
  CHECK(has(text, "# canopy-dev check --replay canopy-check-3.txt\n# found by seed 3 in episode "));
  CHECK(has(text, "\noperations:\n  - "));
  const Ended again = check(workshop, with + "--replay canopy-check-3.txt");
  CHECK(again.status == 1);
  CHECK(has(again.out, "violation: "));
  // Without the plugin the file names an allocator that is not there.
  const Ended without = check(workshop, "--replay canopy-check-3.txt");
  CHECK(without.status == 2);
  CHECK_MESSAGE(has(without.err, "canopy-check-3.txt:"), without.err);
}

TEST_CASE(
    "check: a process that was killed once is reported as such, and its operations are clean when they are run again") {
  const Workshop workshop;
  const fs::path before = fs::current_path();
  fs::current_path(workshop.path);
  Started check(workshop, "check", "check --seed 4 --minutes 2 --jobs 1");
  fs::current_path(before);
  const std::string children =
      "/proc/" + std::to_string(check.pid()) + "/task/" + std::to_string(check.pid()) + "/children";
  pid_t worker = 0;
  REQUIRE(soon([&] { return static_cast<bool>(std::ifstream(children) >> worker); }));
  ::usleep(200'000);
  ::kill(worker, SIGKILL);
  const Ended ended = check.end(0);
  CHECK_MESSAGE(ended.status == 1, (ended.out + ended.err));
  CHECK_MESSAGE(has(ended.out, "the process crashed: Killed; the same operations were clean in a second run"),
                ended.out);
}

TEST_CASE("check: bad input ends with 2 and a sentence") {
  const Workshop workshop;
  for (const char* arguments : {"--ops 0", "--ops x", "--seed 0", "--jobs 0", "--minutes 1x", "--config nowhere.yaml",
                                "--replay nowhere.txt", "--replay ."}) {
    CAPTURE(std::string(arguments));
    const Ended ended = check(workshop, arguments);
    CHECK(ended.status == 2);
    CHECK_FALSE(ended.err.empty());
  }
  // It replaces what it wrote, and nothing else: a file of this name may be what --config names.
  workshop.file("canopy-check-9.txt", "page_size: 1\n");
  CHECK(has(check(workshop, "--seed 9 --ops 10").err, "canopy-dev check did not write it"));
  CHECK(slurp(workshop.path / "canopy-check-9.txt") == "page_size: 1\n");
  workshop.file("canopy-check-9.txt", "# canopy-dev check --replay canopy-check-9.txt\n");
  CHECK(check(workshop, "--seed 9 --ops 10").status == 0);
  const std::string ours = workshop.file(
      "ours.yaml",
      "page_size: 1\ngroups: { full: { reach: path, capacity: 300, allocator: check_0, eviction: lru } }\n");
  CHECK(has(check(workshop, "--config " + ours).err,
            "'check_0' is a component that canopy-dev check puts around another one"));
  const std::string file = workshop.file("wrong.txt", "engine: {}\noperations: []\n");
  const Ended ended = check(workshop, "--replay " + file);
  CHECK(ended.status == 2);
  CHECK_MESSAGE(has(ended.err, "wrong.txt:1:"), ended.err);
}

TEST_CASE("check: Ctrl-C ends it with what it has done") {
  const Workshop workshop;
  std::string out;
  int status = 0;
  // A slow machine may not have begun after a second. In the foreground, timeout sends the signal once: a second one
  // ends a run without a summary.
  for (const char* seconds : {"1", "5", "25"}) {
    const std::string line = "cd " + workshop.path.string() + " && timeout --foreground --preserve-status -s INT " +
                             seconds + " " + (kBin / "canopy-dev").string() + " check --minutes 5 --jobs 2 --config " +
                             (kSource / "configs/engines/lru.yaml").string() + " >out 2>err </dev/null";
    status = std::system(line.c_str());
    out = slurp(workshop.path / "out");
    if (has(out, "stopped")) break;
  }
  CHECK_MESSAGE(has(out, "stopped: no violation, seed 1"), (out + slurp(workshop.path / "err")));
  CHECK(WEXITSTATUS(status) == 130);
  CHECK(has(out, "operations  "));
}
