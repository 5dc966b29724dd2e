/// `canopy route`: simulated workers, recorded streams, and what it refuses.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include <support/recorded_stream.h>
#include "program.h"

using namespace cli;
using recorded::framed;
using nlohmann::json;

namespace {

std::string message(unsigned char sequence, const char* batch) {
  const auto packed = json::to_msgpack(json::parse(batch));
  return framed({"", std::string(7, '\0') + static_cast<char>(sequence), {packed.begin(), packed.end()}});
}

const std::string kOne = message(0, R"([1, [["BlockStored", [1, 2], null, [1, 2, 3, 4], 2, null, "GPU"]], 0])");
const std::string kTwo =
    message(
        0,
        R"([1, [["BlockStored", [9], null, [1, 2], 2, null, "GPU"], ["BlockStored", [5], 77, [8, 8], 2, null, "GPU"]], 0])") +
    message(2, R"([1, [["BlockRemoved", [44], "GPU"]], 0])");
/// Two prompts of tokens in Canopy's own format: the first lives on worker one, the second nowhere.
const std::string kTrace =
    "{\"time_ms\": 0, \"output_tokens\": 1, \"tokens\": [1, 2, 3, 4, 5]}\n"
    "{\"time_ms\": 5, \"output_tokens\": 1, \"tokens\": [7, 7, 7]}\n";

const std::string kConfig = (kSource / "configs/engines/lru.yaml").string();
const std::string kWorkload = " --workload " + (kSource / "configs/workloads/chat.yaml").string();

}  // namespace

TEST_CASE("route: simulated workers, all formulas, as a table and as JSON") {
  const Workshop workshop;
  const std::string file = (workshop.path / "r.json").string();
  const Ended ended = canopy(workshop, "route " + kConfig + kWorkload + " --workers 3 --limit 300 --json " + file);
  CHECK(ended.status == 0);
  const json report = json::parse(slurp(file));
  REQUIRE(report.at("formulas").size() == 8);
  for (const json& formula : report.at("formulas")) {
    CHECK(has(ended.out, formula.at("formula").get<std::string>()));
    CHECK(formula.at("requests") == 300);
    CHECK(formula.at("workers").size() == 3);
    CHECK(formula.at("violations") == 0);
  }
  CHECK(has(ended.out, "300 requests of chat.yaml"));
}

TEST_CASE("route --dry-run: recorded streams say where prompts live, and what could not be placed is said") {
  const Workshop workshop;
  const std::string one = workshop.file("one.bin", kOne), two = workshop.file("two.bin", kTwo);
  const std::string file = (workshop.path / "r.json").string();
  const std::string trace = workshop.file("t.jsonl", kTrace);
  const Ended ended =
      canopy(workshop, "route --dry-run --stream " + one + " --stream " + two + " --trace canopy:" + trace +
                           " --formula cache_aware --formula round_robin --json " + file);
  REQUIRE_MESSAGE(ended.status == 0, ended.err);
  CHECK(has(ended.out, "left out: 1 block behind a block that the stream did not store before"));
  const json report = json::parse(slurp(file));
  const json& aware = report.at("formulas").at(0);
  CHECK(report.at("block_tokens") == 2);
  CHECK(aware.at("hit_tokens") == 4);
  CHECK(aware.at("workers").at(0).at("requests") == 1);
}

TEST_CASE("route: what cannot be is refused with a sentence") {
  const Workshop workshop;
  const auto refused = [&](const std::string& arguments, const std::string& sentence) {
    const Ended ended = canopy(workshop, "route " + arguments);
    CHECK_MESSAGE(ended.status == 2, arguments);
    CHECK_MESSAGE(has(ended.err, sentence), ended.err);
  };
  const std::string one = workshop.file("one.bin", kOne), empty = workshop.file("empty.bin", "");
  refused(kWorkload, "name an engine file for the simulated workers");
  refused("--dry-run" + kWorkload, "name a recorded stream for each worker with --stream FILE");
  refused(kConfig + kWorkload + " --stream " + one, "--stream means something with --dry-run only");
  refused("--dry-run --stream " + empty + kWorkload, "no stream stores a block");
  refused("--dry-run --stream " + workshop.file("cut.bin", kOne.substr(0, 30)) + kWorkload, "cut.bin: ");
  refused("--dry-run --stream " + workshop.path.string() + kWorkload, "a folder");
  refused(kConfig, "name a trace with --trace FILE or a workload");
  refused(kConfig + kWorkload + " --workers 65", "65");
  refused(kConfig + kWorkload + " --formula best", "best");
  refused("--dry-run --stream " + one + kWorkload + " --json " + one, "--json");
  CHECK(slurp(one) == kOne);
}
