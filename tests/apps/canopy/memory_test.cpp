#include "program.h"

#include <doctest/doctest.h>
#include <sys/wait.h>

#include <support/sanitizers.h>
#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

using namespace cli;

namespace {

/// Runs canopy with a limit of its address space, in KiB.
Ended limited(const Workshop& workshop, const std::string& limit, const std::string& arguments) {
  const std::string line = "(ulimit -v " + limit + "; exec " + (kBin / "canopy").string() + " " + arguments + ") >" +
                           (workshop.path / "out").string() + " 2>" + (workshop.path / "err").string();
  const int status = std::system(line.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, slurp(workshop.path / "out"), slurp(workshop.path / "err")};
}

}  // namespace

TEST_CASE(
    "where memory ends, a replay says so or ends with a sentence, and never passes off figures of a smaller cache") {
  if (canopy::test::kSanitized) {
    MESSAGE("SKIPPED: a sanitizer needs the address space for itself");
    return;
  }
  const Workshop workshop;
  const std::string workload =
      workshop.file("w.yaml", "requests: 300\nmix:\n  - thrash: { prompt_tokens: 10k, working_set_tokens: 3M }\n");
  const std::string replay = "replay " + (kSource / "configs/engines/lru.yaml").string() + " --workload " + workload +
                             " --store none --capacity 4M --json " + (workshop.path / "r.json").string();
  const auto with = [&](const std::string& limit) { return limited(workshop, limit, replay); };
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
      // If the ledger's last check found no memory, the run counts as failed as well.
      const bool unchecked = has(run.out, "it threw: std::bad_alloc");
      CHECK_MESSAGE((unchecked || has(run.out, "doubt: there was not enough memory for ")), run.out);
      if (!unchecked) {
        const auto json = nlohmann::json::parse(slurp(workshop.path / "r.json"));
        CHECK(json["inserts_cut_short"] > 0);
        CHECK(json["doubts"][0]["kind"] == "memory");
        CHECK(json["doubts"][0]["count"] == json["inserts_cut_short"]);
      }
      ++noted;
    } else {
      // Below a certain size the loader of the system itself refuses, with 127.
      CHECK_MESSAGE((run.status == 2 || run.status == 127), run.status);
      CHECK_FALSE(run.err.empty());
    }
  }
  CHECK(noted > 0);
}

TEST_CASE("where memory ends, a curve says which of its replays had too little, and what it wants is named") {
  if (canopy::test::kSanitized) {
    MESSAGE("SKIPPED: a sanitizer needs the address space for itself");
    return;
  }
  const Workshop workshop;
  const std::string figures = (workshop.path / "c.json").string();
  const std::string curve =
      "compare --curve --capacity 4M --workload " +
      workshop.file("w.yaml", "requests: 400\nmix:\n  - thrash: { prompt_tokens: 10k, working_set_tokens: 3M }\n") +
      " --json " + figures;
  const Ended whole = limited(workshop, "unlimited", curve);
  REQUIRE(whole.status == 0);
  int noted = 0;
  for (int mib = 24; mib <= 80; mib += 4) {
    CAPTURE(mib);
    const Ended run = limited(workshop, std::to_string(mib << 10), curve);
    if (run.status == 0) {
      CHECK(run.out == whole.out);
    } else if (run.status == 1) {
      const bool unchecked = has(run.out, "it threw: std::bad_alloc");
      CHECK_MESSAGE((unchecked || has(run.out, "doubt: at 4,000,000 tokens, `canopy replay`: ")), run.out);
      CHECK_MESSAGE(!has(run.out, "compared with this curve"), run.out);
      const auto replay = nlohmann::json::parse(slurp(figures)).at("replays").at(0);
      CHECK((unchecked ? replay.at("reports") : replay.at("doubts")).size() > 0);
      ++noted;
    } else {
      CHECK_MESSAGE((run.status == 2 || run.status == 127), run.status);
      CHECK_FALSE(run.err.empty());
    }
    CHECK_MESSAGE(!has(run.err, "Resource temporarily unavailable"), run.err);
  }
  CHECK(noted > 0);
}

TEST_CASE(
    "where memory ends, a replay with a host tier says that it had a smaller one, and never passes off its figures") {
  if (canopy::test::kSanitized) {
    MESSAGE("SKIPPED: a sanitizer needs the address space for itself");
    return;
  }
  const Workshop workshop;
  const std::string json = (workshop.path / "r.json").string();
  const std::string replay =
      "replay " + (kSource / "configs/engines/tiers_host.yaml").string() + " --workload " +
      workshop.file("w.yaml", "requests: 300\nmix:\n  - thrash: { prompt_tokens: 2k, working_set_tokens: 300k }\n") +
      " --no-content --capacity 20k --json " + json;
  const auto reused = [&] { return nlohmann::json::parse(slurp(json))["hit_tokens"].get<std::uint64_t>(); };
  REQUIRE(limited(workshop, "unlimited", replay).status == 0);
  const std::uint64_t whole = reused();
  int noted = 0;
  for (int mib = 80; mib <= 280; mib += 20) {
    CAPTURE(mib);
    const Ended run = limited(workshop, std::to_string(mib << 10), replay);
    if (run.status == 0) {
      CHECK(reused() == whole);
    } else if (run.status == 1) {
      CHECK_MESSAGE(has(run.out, "doubt: "), run.out);
      noted += has(run.out, "doubt: host tier, group 'full': the system refused memory for ");
      CHECK(nlohmann::json::parse(slurp(json))["doubts"][0]["kind"] == "memory");
    } else {
      CHECK_MESSAGE((run.status == 2 || run.status == 127), run.status);
      CHECK_FALSE(run.err.empty());
    }
  }
  CHECK(noted > 0);
}
