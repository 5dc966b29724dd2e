#include "program.h"

#include <doctest/doctest.h>

namespace {

using namespace cli;

Ended check(const Workshop& workshop, const std::string& fixture, const std::string& arguments = "") {
  const fs::path file = kBin.parent_path() / "bad_plugins" / (fixture + ".so");
  return run_canopy(workshop, "plugins check " + file.string() + " " + arguments);
}

/// Returns the report of one component, from its name at the start of a line to the next empty line.
std::string report_of(const std::string& report, const std::string& component) {
  std::string all;
  for (std::size_t at = 0; (at = report.find("\n" + component + " ", at)) != std::string::npos; ++at)
    all += report.substr(at, report.find("\n\n", at + 1) - at);
  return all;
}

}  // namespace

TEST_CASE("a plugin that keeps the contract passes all cases of its interface") {
  const Workshop workshop;
  const Ended run = check(workshop, "good");
  CHECK_MESSAGE(run.status == 0, run.out, run.err);
  CHECK(has(run.out, "slru       EvictionStrategy       7       0\n"));
  CHECK(has(run.out, "7 cases of the contract, all passed"));
  // A search would find the name taken; a check does not mind.
  CHECK(has(run.out, "note: --plugins would refuse it at this place"));
}

TEST_CASE("a policy that breaks the contract fails with the case it broke, and the others run") {
  const Workshop workshop;
  // Long enough for the sound one wherever the tests run, sanitizers included.
  const std::string limit = std::getenv("CANOPY_OPS") ? "30" : "4";
  const Ended run = check(workshop, "broken_policies", "--time-limit " + limit);
  CHECK(run.status == 1);
  CHECK_MESSAGE(has(run.out, "sound         EvictionStrategy       7       0\n"), run.out);
  CHECK(report_of(run.out, "sound").empty());

  const std::string restless = report_of(run.out, "restless");
  CHECK_MESSAGE(has(restless, "fails 'a rank depends only on the facts: a second call, or another instance"), restless);
  CHECK(has(restless, "rank == policy.rank(facts) is {0, "));
  CHECK(has(report_of(run.out, "clock_reader"), "fails 'a rank is the same a second later: a policy reads no clock'"));
  CHECK(has(report_of(run.out, "by_address"), "the same facts, their tag at another address"));
  CHECK(has(report_of(run.out, "thrower"), "it threw: its table of ranks is full"));

  // One that crashes, hangs or leaves is reported with the case in which it did.
  const std::string hanger = report_of(run.out, "hanger");
  CHECK_MESSAGE(has(hanger, "did not finish 'an index with the policy agrees with the models' within " + limit + " s"),
                hanger);
  CHECK(has(run.out, "  4 not run after a case that did not finish"));
  CHECK(has(report_of(run.out, "quitter"), "ended the process (exit code 0) in case 'a policy accepts every call"));
  // A sanitizer takes the signal, says so itself, and ends the process.
  const std::string crasher = report_of(run.out, "crasher"), terminator = report_of(run.out, "terminator");
  CHECK_MESSAGE((has(crasher, "crashed (signal 11: segmentation fault) in case 'a policy accepts every call") ||
                 has(crasher, "ended the process (exit code")),
                crasher);
  CHECK_MESSAGE((has(terminator, "crashed (signal 6: aborted) in case 'a rank depends only on the facts") ||
                 has(terminator, "ended the process (exit code")),
                terminator);
}

TEST_CASE("an allocator that hands out page 0, or a page twice, is reported") {
  const Workshop workshop;
  const Ended run = check(workshop, "broken_allocators");
  CHECK(run.status == 1);
  CHECK_MESSAGE(has(run.out, "plain      SlotAllocator       8       0\n"), run.out);
  CHECK(has(report_of(run.out, "page_zero"),
            "fails 'exactly all pages can be allocated, one more is refused, and page 0 is never among them'"));
  CHECK(has(report_of(run.out, "twice"), " was handed out and is not free"));
}

TEST_CASE("a file that crashes or hangs when it is loaded is refused, and not loaded into canopy") {
  const Workshop workshop;
  const Ended crash = check(workshop, "crashes_on_load");
  CHECK(crash.status == 1);
  CHECK_MESSAGE((has(crash.out, "it crashed when it was loaded (signal 6: aborted)") ||
                 has(crash.out, "it ended the process when it was loaded")),
                crash.out);
  const Ended leaves = check(workshop, "leaves_on_load");
  CHECK(leaves.status == 1);
  CHECK_MESSAGE(has(leaves.out, "it ended the process when it was loaded (exit code "), leaves.out);
  const Ended hang = check(workshop, "hangs_on_load", "--time-limit 1");
  CHECK(hang.status == 1);
  CHECK_MESSAGE(has(hang.out, "it did not load within 1 s"), hang.out);
}

TEST_CASE("without the contract suite a check says that it is not one") {
  const Workshop workshop;
  // The program alone, beside its plugins: as a build is that was made without doctest.
  fs::create_directories(workshop.path / "bin");
  fs::copy_file(kBin / "canopy", workshop.path / "bin/canopy");
  fs::create_directory_symlink(kBin.parent_path() / "plugins", workshop.path / "plugins");
  const fs::path file = kBin.parent_path() / "bad_plugins/good.so", err = workshop.path / "err";
  const std::string line = (workshop.path / "bin/canopy").string() + " plugins check " + file.string() + " >" +
                           (workshop.path / "out").string() + " 2>" + err.string();
  CHECK(WEXITSTATUS(std::system(line.c_str())) == 2);
  CHECK_MESSAGE(has(slurp(err), "This build has no contract suite"), slurp(err));
  // Nor is a file then loaded into canopy itself.
  const std::string crash = (workshop.path / "bin/canopy").string() + " plugins check " +
                            (kBin.parent_path() / "bad_plugins/crashes_on_load.so").string() + " >" +
                            (workshop.path / "out").string() + " 2>" + err.string();
  CHECK(WEXITSTATUS(std::system(crash.c_str())) == 1);
  CHECK_MESSAGE((has(slurp(workshop.path / "out"), "it crashed when it was loaded (signal 6: aborted)") ||
                 has(slurp(workshop.path / "out"), "it ended the process when it was loaded")),
                slurp(workshop.path / "out"));
}

TEST_CASE("components of every interface are checked") {
  const Workshop workshop;
  for (const char* plugin : {"null_index", "key_codecs", "host_store", "sim_storage"}) {
    CAPTURE(plugin);
    const Ended run =
        run_canopy(workshop, "plugins check " + (kBin.parent_path() / "plugins" / plugin).string() + ".so");
    CHECK_MESSAGE(run.status == 0, run.out, run.err);
    CHECK(has(run.out, " cases of the contract, all passed"));
  }
}
