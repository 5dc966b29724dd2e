/// `canopy compare`: several seeds, intervals, and capacities as shares of the trace.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "program.h"

namespace {

using nlohmann::json;

const std::string kSpreadEngine = (cli::kSource / "configs/engines/lru.yaml").string();
const std::string kSpreadMixed = " --workload " + (cli::kSource / "configs/workloads/mixed.yaml").string();

struct SpreadRun {
  cli::Ended ended;
  json figures;
};

/// Runs `canopy compare` and returns its figures.
SpreadRun spread_of(const cli::Workshop& workshop, const std::string& options) {
  const auto out = workshop.path / "figures.json";
  SpreadRun run{cli::run_canopy(workshop, "compare " + kSpreadEngine + options + " --json " + out.string()), {}};
  REQUIRE_MESSAGE(run.ended.status == 0, run.ended.err);
  run.figures = json::parse(cli::slurp(out));
  return run;
}

void spread_refused(const cli::Workshop& workshop, const std::string& options, const std::string& sentence) {
  const cli::Ended run = cli::run_canopy(workshop, "compare " + options);
  CHECK(run.status == 2);
  CHECK_MESSAGE(cli::has(run.err, sentence), run.err);
}

}  // namespace

TEST_CASE("several seeds give means, intervals, and the figures of each seed alone") {
  const cli::Workshop workshop;
  const std::string options = kSpreadMixed + " --policy lru,slru,optimum --capacity 30k,60k";
  const SpreadRun all = spread_of(workshop, options + " --seeds 3..5");
  CHECK(all.figures["seeds"] == json{3, 4, 5});
  CHECK(all.figures["intervals"] == "95 % t interval of the mean of 3 seeds");
  CHECK(cli::has(all.ended.out, "with 3 seeds"));
  CHECK(cli::has(all.ended.out, "more than lru"));
  REQUIRE(all.figures["rows"].size() == 6);
  const char* seeds[] = {"3", "4", "5"};
  double rates[6] = {};
  for (std::size_t i = 0; i < 3; ++i) {
    const json rows = spread_of(workshop, options + " --seeds " + seeds[i]).figures["rows"];
    for (std::size_t row = 0; row < 6; ++row) {
      const json& run = all.figures["rows"][row]["by_seed"][i];
      for (const char* key : {"seed", "hit_tokens", "hit_rate", "digest"}) CHECK(run[key] == rows[row][key]);
      rates[row] += run["hit_rate"].get<double>() / 3;
    }
  }
  for (std::size_t row = 0; row < 6; ++row) {
    const json& summed = all.figures["rows"][row];
    CHECK(summed["hit_rate"].get<double>() == doctest::Approx(rates[row]));
    CHECK(summed["spread"]["mean"].get<double>() == doctest::Approx(rates[row]));
    CHECK(summed["spread"]["low"] < summed["spread"]["mean"]);
    CHECK(summed["gain"].is_null() == (row < 2));
  }
  CHECK(all.figures["rows"][4]["gain"]["low"] > 0);  // the optimum is above lru whatever the seed
}

TEST_CASE("one trace and one seed have gains with intervals, the same each time") {
  const cli::Workshop workshop;
  const std::string options = kSpreadMixed + " --policy lru,optimum --capacity 30k";
  const json once = spread_of(workshop, options).figures, again = spread_of(workshop, options + " --jobs 1").figures;
  CHECK(once["intervals"].get<std::string>().starts_with("95 % by a block bootstrap of 50 stretches"));
  const json gain = once["rows"][1]["gain"];
  CHECK(gain["low"] < gain["mean"]);
  CHECK(gain["mean"] < gain["high"]);
  CHECK(gain == again["rows"][1]["gain"]);
  CHECK(once["rows"][0]["gain"].is_null());
  CHECK(once["rows"][1]["spread"].is_null());
  const std::string short_one = workshop.file("short.yaml", "requests: 99\nmix:\n  - chat: {}\n");
  const SpreadRun few = spread_of(workshop, " --workload " + short_one + " --policy lru,optimum --capacity 30k");
  CHECK(few.figures["rows"][1]["gain"].is_null());
  CHECK_FALSE(cli::has(few.ended.out, "intervals"));
}

TEST_CASE("seeds that mean nothing are refused with the reason") {
  const cli::Workshop workshop;
  const std::string engine = kSpreadEngine, some = engine + kSpreadMixed + " --capacity 30k";
  const std::string trace =
      workshop.file("t.jsonl", "{\"timestamp\": 0, \"input_length\": 9, \"output_length\": 1, \"hash_ids\": [1]}\n");
  spread_refused(workshop, engine + " --trace " + trace + " --capacity 1k --seeds 1..5", "only a --workload has seeds");
  spread_refused(workshop, some + " --seeds 5..1", "expected the lower seed first");
  spread_refused(workshop, some + " --seeds 1..99999999", "at most 1000 of them");
  spread_refused(workshop, some + " --seeds 1,2,1..3", "1 is listed twice");
  spread_refused(workshop, some + " --seeds 0", "outside");
  spread_refused(workshop, some + " --seeds 1,x", "is not a whole number");
  spread_refused(workshop, "--curve" + kSpreadMixed + " --seeds 1,2", "a curve is that of one seed");
}

TEST_CASE("a capacity may be a share of the distinct tokens of the trace") {
  const cli::Workshop workshop;
  const json all = spread_of(workshop, kSpreadMixed + " --policy lru,optimum --capacity 5%,12.5%,60k").figures;
  const auto distinct = all["distinct_tokens"].get<std::uint64_t>();
  CHECK(all["capacities"][0]["name"] == "5%");
  CHECK(all["capacities"][0]["tokens"] == distinct / 20 / 16 * 16);
  CHECK(all["capacities"][1]["tokens"] == distinct / 8 / 16 * 16);
  CHECK(all["capacities"][2]["tokens"] == 60000);
  const auto out = workshop.path / "curve.json";
  const cli::Ended curve =
      cli::run_canopy(workshop, "compare --curve" + kSpreadMixed + " --capacity 5%,10% --json " + out.string());
  REQUIRE_MESSAGE(curve.status == 0, curve.err);
  CHECK(json::parse(cli::slurp(out))["points"][0]["capacity_tokens"] == distinct / 20);
  const std::string some = kSpreadEngine + kSpreadMixed;
  spread_refused(workshop, some + " --capacity 0%", "expected a share of the trace's distinct tokens");
  spread_refused(workshop, some + " --capacity 5x%", "expected a share of the trace's distinct tokens");
  spread_refused(workshop, some + " --capacity 1e1%", "expected a share of the trace's distinct tokens");
  spread_refused(workshop, some + " --capacity 0.00001%", "less than a page of 16");
  spread_refused(workshop, some + " --capacity 10%,10.0%", "are the same");
}
