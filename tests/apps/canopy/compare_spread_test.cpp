/// `canopy compare`: several seeds, intervals, and capacities as shares of the trace.
#include <doctest/doctest.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

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

TEST_CASE("the workload of several seeds is read once, whatever becomes of its file") {
  const cli::Workshop workshop;
  const std::string file = workshop.file("w.yaml", "requests: 99\nmix:\n  - chat: {}\n");
  const auto opened_for = [&](const std::string& seeds) {
    const int watch = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    REQUIRE(::inotify_add_watch(watch, file.c_str(), IN_ACCESS | IN_OPEN) >= 0);
    spread_of(workshop, " --workload " + file + " --policy lru --capacity 30k --seeds " + seeds);
    alignas(inotify_event) char room[4096];
    int opened = 0;
    for (ssize_t got; (got = ::read(watch, room, sizeof(room))) > 0;)
      for (ssize_t at = 0; at < got;) {
        const auto* const event = reinterpret_cast<const inotify_event*>(room + at);
        opened += (event->mask & IN_OPEN) != 0;
        at += static_cast<ssize_t>(sizeof(*event) + event->len);
      }
    ::close(watch);
    return opened;
  };
  const int once = opened_for("3");
  CHECK(once > 0);
  CHECK(opened_for("3..6") == once);
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

TEST_CASE("a name in the rows of requests is no formula and moves no cursor") {
  const cli::Workshop workshop;
  std::string trace;
  for (const char* name : {"=cmd|calc!A0", "\\u001b[31m", "plain"})
    trace += std::string("{\"time_ms\": 1, \"namespace\": \"") + name + "\", \"tokens\": [1, 2, 3]}\n";
  const auto csv = workshop.path / "requests.csv";
  spread_of(workshop,
            " --trace " + workshop.file("t.jsonl", trace) + " --policy lru --capacity 1k --requests " + csv.string());
  const std::string rows = cli::slurp(csv);
  for (const char* name : {",'=cmd|calc!A0,", ",\\x1b[31m,", ",plain,"}) CHECK_MESSAGE(cli::has(rows, name), rows);
}

TEST_CASE("a row for each request adds up to the figures of the runs") {
  const cli::Workshop workshop;
  const auto csv = workshop.path / "requests.csv";
  const SpreadRun run =
      spread_of(workshop, kSpreadMixed + " --policy 'lru,{hazard: {cost_weight: 1, history: 4096}},optimum,infinite'" +
                              " --capacity 30k,60k --seeds 1,2 --requests " + csv.string());
  std::istringstream lines(cli::slurp(csv));
  std::string line;
  REQUIRE(std::getline(lines, line));
  CHECK(
      line ==
      "policy,capacity_tokens,seed,request,time_ms,namespace,turn,prompt_tokens,output_tokens,seen_tokens,hit_tokens");
  std::map<std::string, std::uint64_t> hits;  // by policy, capacity and seed
  std::uint64_t rows = 0;
  for (; std::getline(lines, line); ++rows) {
    std::size_t at = line[0] == '"' ? line.find('"', 1) + 1 : line.find(',');
    for (int more = 0; more < 2; ++more) at = line.find(',', at + 1);
    hits[line.substr(0, at)] += std::stoull(line.substr(line.rfind(',') + 1));
  }
  CHECK(rows == 7 * run.figures["requests"].get<std::uint64_t>());
  for (const json& row : run.figures["rows"])
    for (const json& seed : row["by_seed"]) {
      const std::string name = row["policy"], policy = cli::has(name, ",") ? '"' + name + '"' : name,
                        capacity = row["capacity_tokens"].is_null() ? "" : row["capacity_tokens"].dump();
      const std::string key = policy + "," + capacity + "," + seed["seed"].dump();
      CHECK_MESSAGE(hits[key] == seed["hit_tokens"].get<std::uint64_t>(), key);
    }
  const std::string trace =
      workshop.file("t.jsonl", "{\"timestamp\": 0, \"input_length\": 9, \"output_length\": 1, \"hash_ids\": [1]}\n");
  spread_refused(workshop, kSpreadEngine + " --trace " + trace + " --capacity 1k --requests " + trace,
                 "is the same file as --trace");
  spread_refused(workshop, "--curve --trace " + trace + " --requests x.csv",
                 "--requests and --curve do not fit together");
}

TEST_CASE("the figures say which program made them, of which requests, with which options") {
  const cli::Workshop workshop;
  const std::string options = " --policy 'lru,{slru: {protect_after: 3}},optimum' --capacity 30k --seeds ";
  const json one = spread_of(workshop, kSpreadMixed + options + "1").figures,
             two = spread_of(workshop, kSpreadMixed + options + "2").figures,
             pages = spread_of(workshop, kSpreadMixed + options + "1 --page-size 64").figures;
  CHECK(cli::has(cli::run_canopy(workshop, "--version").out, one["canopy"]["version"].get<std::string>()));
  CHECK((one["canopy"]["commit"].is_null() || one["canopy"]["commit"].get<std::string>().size() >= 12));
  CHECK(one["trace_hash"] != two["trace_hash"]);
  CHECK(one["trace_hash"] == pages["trace_hash"]);
  CHECK(one["policy_options"]["lru"] == json{{"name", "lru"}, {"options", json::object()}});
  const json slru = one["policy_options"]["{slru: {protect_after: 3}}"];
  CHECK(slru["name"] == "slru");
  CHECK(slru["options"]["protect_after"] == 3);
  CHECK(one["policy_options"]["optimum"].is_null());
}

TEST_CASE("the cost of computing gives each policy its GPU time, and a simulated server the time to a first token") {
  const cli::Workshop workshop;
  const std::string costs = " --set 'tiers.recompute={per_token: 50us, per_token_depth: 600ps}'";
  const std::string options = kSpreadMixed + " --capacity 30k";
  const auto csv = workshop.path / "requests.csv";
  const json serial = spread_of(workshop, options + costs + " --policy lru,optimum --requests " + csv.string()).figures;
  double seconds[2] = {};
  std::istringstream lines(cli::slurp(csv));
  std::string line;
  std::getline(lines, line);
  for (; std::getline(lines, line);) {
    std::vector<double> fields;
    std::istringstream parts(line.substr(line.find(',') + 1));
    for (std::string part; std::getline(parts, part, ',');) fields.push_back(std::atof(part.c_str()));
    const double hit = fields.back(), rest = fields[6] - hit;
    seconds[line[0] == 'o'] += rest * 50e-6 + rest * (hit + rest / 2) * 600e-12;
  }
  for (const std::size_t i : {0u, 1u}) {
    CHECK(serial["rows"][i]["prefill_seconds"].get<double>() == doctest::Approx(seconds[i]).epsilon(0.01));
    CHECK(serial["rows"][i]["p95_ttft_ms"].is_null());
  }
  CHECK(seconds[1] < seconds[0]);
  CHECK(spread_of(workshop, options + " --policy lru").figures["rows"][0]["prefill_seconds"].is_null());

  const SpreadRun timed = spread_of(workshop, options + costs + " --policy lru,fifo --mode timed --running 16");
  CHECK(timed.figures["timed"] == true);
  CHECK(cli::has(timed.ended.out, "first token, p50 / p95"));
  const auto report = workshop.path / "report.json";
  for (const char* policy : {"lru", "fifo"}) {
    REQUIRE(cli::run_canopy(workshop, "replay " + kSpreadEngine + options + costs + " --policy " + policy +
                                          " --store none --no-content --mode timed --running 16 --json " +
                                          report.string())
                .status == 0);
    const json alone = json::parse(cli::slurp(report)), &row = timed.figures["rows"][policy[0] == 'f'];
    for (const char* key : {"hit_tokens", "evicted_tokens", "digest", "p50_ttft_ms", "p95_ttft_ms", "prefill_seconds"})
      CHECK_MESSAGE(row[key] == alone[key], key);
    CHECK(alone["p95_ttft_ms"] > alone["p50_ttft_ms"]);
    CHECK(row["optimum_share"].is_null());
  }
  const std::string some = kSpreadEngine + options;
  spread_refused(workshop, some + " --mode timed --policy lru,optimum",
                 "'optimum' is computed for requests one after another");
  spread_refused(workshop, some + " --running 3", "--running needs --mode timed");
  spread_refused(workshop, "--curve" + options + " --mode timed", "--mode and --curve do not fit together");
}
