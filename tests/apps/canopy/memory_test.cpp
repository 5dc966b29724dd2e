#include "program.h"

#include <doctest/doctest.h>
#include <sys/wait.h>

#include <support/sanitizers.h>
#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

using namespace cli;

TEST_CASE(
    "where memory ends, a replay says so or ends with a sentence, and never passes off figures of a smaller cache") {
  if (canopy::test::kSanitized) {
    MESSAGE("SKIPPED: a sanitizer needs the address space for itself");
    return;
  }
  const Workshop workshop;
  const std::string workload =
      workshop.file("w.yaml", "requests: 300\nmix:\n  - thrash: { prompt_tokens: 10k, working_set_tokens: 3M }\n");
  const std::string replay = (kBin / "canopy").string() + " replay " + (kSource / "configs/engines/lru.yaml").string() +
                             " --workload " + workload + " --store none --capacity 4M --json " +
                             (workshop.path / "r.json").string();
  const auto with = [&](const std::string& limit) {
    const std::string line = "(ulimit -v " + limit + "; exec " + replay + ") >" + (workshop.path / "out").string() +
                             " 2>" + (workshop.path / "err").string();
    const int status = std::system(line.c_str());
    return Ended{WIFEXITED(status) ? WEXITSTATUS(status) : -1, slurp(workshop.path / "out"),
                 slurp(workshop.path / "err")};
  };
  const auto digest = [](const Ended& run) {
    return run.out.substr(std::min(run.out.find("digest "), run.out.size()));
  };
  const Ended whole = with("unlimited");
  REQUIRE(whole.status == 0);
  int noted = 0;
  for (int mib = 24; mib <= 80; mib += 8) {
    CAPTURE(mib);
    const Ended run = with(std::to_string(mib << 10));
    if (run.status == 0) {
      CHECK(digest(run) == digest(whole));
    } else if (run.status == 1) {
      // Where it is the ledger's last check that found none, the run counts as failed as well.
      const bool unchecked = has(run.out, "it threw: std::bad_alloc");
      CHECK_MESSAGE((unchecked || has(run.out, "memory: there was not enough for ")), run.out);
      if (!unchecked) CHECK(nlohmann::json::parse(slurp(workshop.path / "r.json"))["inserts_cut_short"] > 0);
      ++noted;
    } else {
      // Below a certain size the loader of the system itself refuses, with 127.
      CHECK_MESSAGE((run.status == 2 || run.status == 127), run.status);
      CHECK_FALSE(run.err.empty());
    }
  }
  CHECK(noted > 0);
}
