/// A plugin that crashes, hangs or leaves while an engine runs is named.
#include "program.h"

#include <doctest/doctest.h>
#include <support/sanitizers.h>

#include <csignal>

namespace {

using namespace cli;

const fs::path kBad = kBin.parent_path() / "bad_plugins";

/// Beside the plugins of `canopy` in a folder of its own, so that they need not be trusted as a folder of the user's.
struct House {
  Workshop workshop;
  House() {
    fs::create_directories(workshop.path / "bin");
    fs::create_directories(workshop.path / "plugins");
    fs::copy_file(kBin / "canopy", workshop.path / "bin/canopy");
    for (const auto& one : fs::directory_iterator(kBin.parent_path() / "plugins"))
      fs::create_symlink(one.path(), workshop.path / "plugins" / one.path().filename());
    for (const char* one : {"lying_policies.so", "lying_allocators.so"})
      fs::create_symlink(kBad / one, workshop.path / "plugins" / one);
  }
  Ended replay(const std::string& arguments, int seconds = 60) const {
    return run("replay", "--capacity 100000 --set store=none --limit 400 " + arguments, seconds);
  }
  /// Runs a command under a shell's eyes: the status that a shell gives a signal is 128 and its number.
  Ended run(const std::string& command, const std::string& arguments, int seconds) const {
    const fs::path err = workshop.path / "stderr", out = workshop.path / "stdout";
    const std::string line = "timeout -s KILL " + std::to_string(seconds) + " " +
                             (workshop.path / "bin/canopy").string() + " " + command + " " +
                             (kSource / "configs/engines/lru.yaml").string() + " --workload " +
                             (kSource / "configs/workloads/mixed.yaml").string() + " " + arguments + " >" +
                             out.string() + " 2>" + err.string() + " </dev/null";
    const int status = std::system(("sh -c '" + line + "'; exit $?").c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, slurp(out), slurp(err)};
  }
};

}  // namespace

TEST_CASE("a plugin that ends the process in a running engine is named on stderr and nothing looks like success") {
  const House house;
  const auto sentence = [](const char* what, const std::string& name, const char* function) {
    return std::string("canopy: ") + what + " inside eviction strategy '" + name + "' (lying_policies.so), " +
           function + "\n";
  };
  for (const auto& [name, what, function] :
       {std::tuple("crashes", "segmentation fault", "rank"), std::tuple("divides", "arithmetic error", "evicted"),
        std::tuple("aborts", "abort", "spare"), std::tuple("leaves", "a plugin ended the process with exit()", "rank"),
        std::tuple("dives", "segmentation fault", "arrived"), std::tuple("throws_at_the_end", "abort", "destroy")}) {
    CAPTURE(name);
    const Ended run = house.replay(std::string("--policy ") + name);
    CHECK(run.status != 0);
    if (canopy::test::kThreadSanitizer && name == std::string("dives")) {
      MESSAGE("SKIPPED: under ThreadSanitizer a handler has no stack of its own when the stack is full");
      continue;
    }
    CHECK_MESSAGE(has(run.err, sentence(what, name, function)), run.err);
  }
  CHECK(house.replay("--policy leaves").status == 1);
}

TEST_CASE("a plugin that hangs in a running engine is named on stderr") {
  const House house;
  const Ended run = house.replay("--policy hangs", 8);
  CHECK(run.status != 0);
  CHECK_MESSAGE(
      has(run.err, "canopy: eviction strategy 'hangs' (lying_policies.so), evicted: it has not returned for 5 s\n"),
      run.err);
}

TEST_CASE("a second signal ends a run that a plugin holds up") {
  const House house;
  const std::string err = (house.workshop.path / "stderr").string();
  // The first one is noted, and the run would end at its next step.
  const std::string script = house.workshop.file(
      "twice.sh", (house.workshop.path / "bin/canopy").string() + " replay " +
                      (kSource / "configs/engines/lru.yaml").string() + " --workload " +
                      (kSource / "configs/workloads/mixed.yaml").string() +
                      " --capacity 100000 --set store=none --policy hangs >/dev/null 2>" + err +
                      " </dev/null &\np=$!\nuntil grep -q 'has not returned' " + err +
                      "; do sleep 0.1; done\nkill -TERM $p\nsleep 0.3\ngrep -q ' Z ' /proc/$p/stat && exit 99\n"
                      "kill -TERM $p\nwait $p\n");
  const int status = std::system(("timeout -s KILL 60 sh " + script).c_str());
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 128 + SIGTERM);
}

TEST_CASE("a plugin that hangs in a thread of a comparison is named on stderr") {
  const House house;
  const Ended run = house.run("compare", "--policy lru,hangs --capacity 100k --jobs 2", 8);
  CHECK(run.status != 0);
  CHECK_MESSAGE(
      has(run.err, "canopy: eviction strategy 'hangs' (lying_policies.so), evicted: it has not returned for 5 s\n"),
      run.err);
}

TEST_CASE("no other failure hides the exit code of a violation") {
  const House house;
  const Ended run = house.replay("--policy throws_in_rank --resize 99999999:3M");
  CHECK(run.status == 1);
  CHECK(has(run.out, "violation: "));
  CHECK_MESSAGE(has(run.err, "so this limit was never set"), run.err);
}

TEST_CASE("a policy that throws leaves a whole recording and a doubt and exit code 1") {
  const House house;
  const std::string recording = (house.workshop.path / "run.feed").string();
  const Ended run = house.replay("--policy throws_in_rank --record " + recording);
  CHECK(run.status == 1);
  CHECK_MESSAGE(has(run.out,
                    "violation: eviction strategy 'throws_in_rank' (lying_policies.so), rank: it threw: its "
                    "table is full\n"),
                run.out, run.err);
  CHECK_MESSAGE(has(run.out,
                    "doubt: group 'full': eviction strategy 'throws_in_rank' (lying_policies.so) threw, and "
                    "lru evicts in its place since operation "),
                run.out);
  CHECK(has(run.err, "canopy: group 'full': eviction strategy 'throws_in_rank' (lying_policies.so) threw, and lru "));
  CHECK(fs::file_size(recording) > 100'000);
}
