/// `canopy compare`, with and without --curve: what they write, and what they refuse.
#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "program.h"

namespace {

using namespace cli;
using nlohmann::json;

const std::string kEngine = (kSource / "configs/engines/sglang_lru.yaml").string();
const std::string kMixed = " --workload " + (kSource / "configs/workloads/mixed.yaml").string();

json read(const fs::path& path) { return json::parse(slurp(path)); }

Ended compare(const Workshop& workshop, const std::string& options, const std::string& engine = kEngine) {
  return run_canopy(workshop, "compare " + engine + " " + options);
}

void check_refused(const Ended& run, const std::string& sentence) {
  CHECK(run.status == 2);
  CHECK_MESSAGE(has(run.err, sentence), run.err);
  CHECK_MESSAGE(run.out.empty(), run.out);
}

/// Conversations of some blocks each, as a trace of blocks.
std::string trace(int requests) {
  std::string text;
  for (int i = 0; i < requests; ++i) {
    const int chat = i * 7 % 23, turn = i / 23;
    std::string ids = "0";
    for (int block = 0; block <= turn % 6; ++block) ids += ", " + std::to_string(1000 + 100 * chat + block);
    text += "{\"timestamp\": " + std::to_string(i * 500) +
            ", \"input_length\": " + std::to_string(512 * (turn % 6 + 1) + 100 + i % 50) +
            ", \"output_length\": " + std::to_string(i % 300) + ", \"hash_ids\": [" + ids + "]}\n";
  }
  return text;
}

}  // namespace

TEST_CASE("a comparison has a row for each policy and capacity, with the figures of single replays") {
  const Workshop workshop;
  const fs::path out = workshop.path / "out.json", report = workshop.path / "report.json";
  const Ended run = compare(
      workshop, kMixed + " --policy lru,slru,optimum,infinite,lru_trimmed --capacity 40k,80k --json " + out.string());
  REQUIRE_MESSAGE(run.status == 0, run.err);
  CHECK(has(run.out, " 0 violations"));
  const json all = read(out);
  std::vector<std::string> order;
  for (const json& row : all["rows"]) {
    order.push_back(row["policy"].get<std::string>() + " " + row["capacity_tokens"].dump());
    for (const char* key : {"policy", "capacity_tokens", "page_size", "hit_tokens", "hit_rate", "optimum_share",
                            "evicted_tokens", "index_seconds", "seed", "digest"})
      CHECK_MESSAGE(row.contains(key), key);
    CHECK(row["page_size"] == 16);
    CHECK(row["hit_rate"].get<double>() ==
          doctest::Approx(row["hit_tokens"].get<double>() / all["prompt_tokens"].get<double>()));
    CHECK(row["hit_tokens"] <= all["infinite_tokens"]);
    // Tokens that were not there had been there before: they were evicted, and are regretted, by each histogram.
    CHECK(row["hit_tokens"].get<std::uint64_t>() + row["regret"]["tokens"].get<std::uint64_t>() ==
          all["infinite_tokens"].get<std::uint64_t>());
    for (const char* histogram : {"by_age", "by_depth", "by_turn"}) {
      std::uint64_t sum = 0;
      for (const json& bin : row["regret"][histogram]) sum += bin["tokens"].get<std::uint64_t>();
      CHECK(sum == row["regret"]["tokens"].get<std::uint64_t>());
    }
    for (const auto& [kind, slices] : row["slices"].items()) {
      std::uint64_t hits = 0, prompts = 0;
      for (const json& slice : slices) {
        hits += slice["hit_tokens"].get<std::uint64_t>();
        prompts += slice["prompt_tokens"].get<std::uint64_t>();
      }
      CHECK_MESSAGE(hits == row["hit_tokens"].get<std::uint64_t>(), kind);
      CHECK_MESSAGE(prompts == all["prompt_tokens"].get<std::uint64_t>(), kind);
    }
    CHECK(row["slices"].contains("namespace"));
    CHECK(row["slices"].contains("turn"));
  }
  CHECK(order == std::vector<std::string>{"lru 40000", "lru 80000", "slru 40000", "slru 80000", "optimum 40000",
                                          "optimum 80000", "infinite null", "lru_trimmed 40000", "lru_trimmed 80000"});
  for (const json& row : all["rows"]) {
    const std::string policy = row["policy"];
    if (policy != "lru" && policy != "slru") continue;
    REQUIRE(run_canopy(workshop, "replay " + kEngine + kMixed + " --no-content --policy " + policy + " --capacity " +
                                     row["capacity_tokens"].dump() + " --json " + report.string())
                .status == 0);
    const json alone = read(report);
    for (const char* key : {"hit_tokens", "evicted_tokens", "digest", "seed"}) CHECK(row[key] == alone[key]);
    const json& best = all["rows"][row["capacity_tokens"] == 40000 ? 4 : 5];
    CHECK(row["optimum_share"].get<double>() ==
          doctest::Approx(row["hit_tokens"].get<double>() / best["hit_tokens"].get<double>()));
    CHECK(row["optimum_share"] < 1);
  }
}

TEST_CASE("a comparison is the same whatever the number of jobs") {
  const Workshop workshop;
  std::map<std::string, json> rows;
  for (const std::string jobs : {"1", "5"}) {
    const fs::path out = workshop.path / ("out" + jobs);
    REQUIRE(compare(workshop,
                    kMixed + " --policy lru,lfu,optimum --capacity 30k,60k --jobs " + jobs + " --json " + out.string())
                .status == 0);
    rows[jobs] = read(out)["rows"];
    for (json& row : rows[jobs]) row.erase("index_seconds");
  }
  CHECK(rows["1"] == rows["5"]);
}

TEST_CASE("no policy reuses more than the optimum, also where requests do not fit") {
  const Workshop workshop;
  const fs::path out = workshop.path / "out.json";
  for (const auto& entry : fs::directory_iterator(kSource / "configs/workloads")) {
    if (entry.path().filename() == "long_context.yaml") continue;  // ten million tokens a prompt
    CAPTURE(entry.path().string());
    const Ended run = compare(
        workshop, "--workload " + entry.path().string() +
                      " --policy lru,mru,lfu_da,clock,lru_trimmed --capacity 1k,4k,16k,64k --json " + out.string());
    REQUIRE_MESSAGE(run.status == 0, run.err);
    const json all = read(out);
    for (const json& row : all["rows"]) CHECK_MESSAGE(row["optimum_share"] <= 1, row.dump());
  }
}

TEST_CASE("a warm-up is run and not counted") {
  const Workshop workshop;
  const fs::path out = workshop.path / "out.json";
  const auto hits_after = [&](int warm_up) {
    REQUIRE(compare(workshop, kMixed + " --policy lru,optimum --capacity 60k --json " + out.string() + " --warm-up " +
                                  std::to_string(warm_up))
                .status == 0);
    return read(out);
  };
  const json none = hits_after(0), some = hits_after(1000);
  CHECK(some["warm_up"] == 1000);
  CHECK(some["prompt_tokens"] < none["prompt_tokens"]);
  CHECK(some["rows"][0]["hit_tokens"] < none["rows"][0]["hit_tokens"]);
  CHECK(some["rows"][0]["digest"] == none["rows"][0]["digest"]);
  check_refused(compare(workshop, kMixed + " --policy lru --capacity 60k --warm-up 99999"), "none would be counted");
}

TEST_CASE("policies may have options, and their names are those of the list") {
  const Workshop workshop;
  const fs::path out = workshop.path / "out.json";
  REQUIRE(
      compare(workshop, kMixed + " --policy 'slru,{slru: {protect_after: 9}}' --capacity 60k --json " + out.string())
          .status == 0);
  const json rows = read(out)["rows"];
  REQUIRE(rows.size() == 2);
  CHECK(rows[1]["policy"] == "{slru: {protect_after: 9}}");
  CHECK(rows[0]["digest"] != rows[1]["digest"]);
}

TEST_CASE("at block resolution a partial block is a unit, and the trimmed LRU is that of the curve") {
  const Workshop workshop;
  const std::string file = workshop.file("t.jsonl", trace(400));
  const fs::path out = workshop.path / "out.json", curve = workshop.path / "curve.json";
  REQUIRE(compare(workshop, "--trace " + file +
                                " --blocks --policy lru,lru_trimmed,optimum --capacity 10k,20k,40k --json " +
                                out.string())
              .status == 0);
  REQUIRE(run_canopy(workshop,
                     "compare --curve --trace " + file + " --blocks --capacity 10k,20k,40k --json " + curve.string())
              .status == 0);
  const json rows = read(out)["rows"], points = read(curve)["points"];
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(rows[i]["page_size"] == 512);
    CHECK(rows[i]["capacity_tokens"].get<int>() % 512 == 0);
    CHECK(rows[i]["hit_tokens"] <= rows[6 + i]["hit_tokens"]);
    CHECK(rows[3 + i]["hit_tokens"] == points[i]["hit_tokens"]);
    CHECK(rows[3 + i]["hit_tokens"] > 0);
  }
  CHECK(read(out)["prompt_tokens"] == read(curve)["prompt_tokens"]);
  check_refused(compare(workshop, "--trace " + file + " --blocks --policy lru",
                        (kSource / "configs/engines/sliding_window.yaml").string()),
                "has 2 groups");
}

TEST_CASE("a trace in blocks of another size than 512 needs no option, and one of tokens has no blocks") {
  const Workshop workshop;
  const fs::path out = workshop.path / "out.json";
  std::string text;
  for (int i = 0; i < 20; ++i)
    text += R"({"chat_id": )" + std::to_string(i) + R"(, "parent_chat_id": -1, "timestamp": )" + std::to_string(i) +
            R"(, "input_length": 40, "output_length": 5, "type": "text", "turn": 1, "hash_ids": [1, 2, )" +
            std::to_string(3 + i) + "]}\n";
  const std::string qwen = workshop.file("q.jsonl", text);
  const std::string tokens = workshop.file("t.jsonl", "{\"prompt_token_ids\": [1, 2, 3]}\n");
  for (const char* blocks : {"", " --blocks"}) {
    const Ended run =
        compare(workshop, "--trace " + qwen + blocks + " --policy lru --capacity 1k --json " + out.string());
    REQUIRE_MESSAGE(run.status == 0, run.err);
    CHECK(read(out)["rows"][0]["hit_tokens"] == 19 * 32);
    CHECK(read(out)["rows"][0]["page_size"] == 16);
  }
  check_refused(compare(workshop, "--trace " + tokens + " --blocks --policy lru --capacity 1k"),
                "has token ids and no blocks");
}

TEST_CASE("capacities may be memory, at what a token of a model takes") {
  const Workshop workshop;
  const std::string model = workshop.file("config.json", R"({"model_type": "llama", "num_hidden_layers": 32,
      "num_attention_heads": 32, "num_key_value_heads": 8, "hidden_size": 4096, "torch_dtype": "bfloat16"})");
  const fs::path out = workshop.path / "out.json";
  const Ended run = compare(
      workshop, kMixed + " --policy lru --memory 8GiB,16GB --model-config " + model + " --json " + out.string());
  REQUIRE_MESSAGE(run.status == 0, run.err);
  CHECK_MESSAGE(has(run.out,
                    "32 of 32 layers keep the whole path (GQA, K and V of 8 heads of 128 values, bfloat16): "
                    "131072 bytes a token"),
                run.out);
  const json all = read(out);
  CHECK(all["bytes_per_token"] == 131072);
  CHECK(all["rows"][0]["capacity_tokens"] == 65536);
  CHECK(all["rows"][1]["capacity_tokens"] == 16'000'000'000 / 131072 / 16 * 16);
  CHECK(all["capacities"][0]["name"] == "8GiB");
  REQUIRE(compare(workshop, kMixed + " --policy lru --memory 8GiB --kv-bytes 100000 --json " + out.string()).status ==
          0);
  CHECK(read(out)["rows"][0]["capacity_tokens"] == (std::uint64_t{8} << 30) / 100000 / 16 * 16);
  check_refused(compare(workshop, kMixed + " --memory 8GiB"), "expected the bytes of a token");
  check_refused(compare(workshop, kMixed + " --memory 80Gi --kv-bytes 1000"),
                "--memory '80Gi': expected a size such as 80GiB");
  check_refused(compare(workshop, kMixed + " --memory 1MiB --kv-bytes 1000000"), "less than a page of 16");
  const std::string broken = workshop.file("broken.json", R"({"num_hidden_layers": )");
  check_refused(compare(workshop, kMixed + " --memory 8GiB --model-config " + broken), "not JSON at byte");
}

TEST_CASE("what cannot be compared is refused with a sentence") {
  const Workshop workshop;
  const std::string some = kMixed + " --capacity 60k ";
  check_refused(compare(workshop, some + "--policy lru,slruu"), "no policy is called 'slruu'. Did you mean 'slru'?");
  check_refused(compare(workshop, some + "--policy optimun"), "Did you mean 'optimum'?");
  check_refused(compare(workshop, some + "--policy lru,,lfu"), "a part of the list is empty");
  check_refused(compare(workshop, some + "--policy lru,lru"), "'lru' is listed twice");
  check_refused(compare(workshop, some + "--policy '{slru: {protect: 3}}'"), "protect");
  check_refused(compare(workshop, kMixed + " --capacity 3M,x"), "is not a whole number");
  check_refused(compare(workshop, kMixed + " --capacity 8"), "outside");
  check_refused(compare(workshop, kMixed + " --capacity 3M,3000k"), "are the same");
  check_refused(compare(workshop, "--capacity 3M"), "expected a trace with --trace FILE");
  check_refused(compare(workshop, kMixed + " --blocks"), "--blocks requires --trace");
  const std::string windowed = (kSource / "configs/engines/sliding_window.yaml").string();
  check_refused(compare(workshop, some + "--policy lru,optimum", windowed),
                "'optimum' is computed for engines of one group");
  check_refused(compare(workshop, some + "--policy infinite", windowed), "has 2 groups");
  const std::string empty = workshop.file("empty.jsonl", "");
  check_refused(compare(workshop, "--capacity 3M --trace " + empty), "has no requests");
  check_refused(run_canopy(workshop, "compare --curve --trace " + empty), "has no requests");
  const std::string broken = workshop.file("broken.jsonl", trace(3) + "{\n");
  check_refused(compare(workshop, "--capacity 3M --trace " + broken), "broken.jsonl:4");
  const std::string precious = workshop.file("t.jsonl", trace(3));
  check_refused(compare(workshop, "--capacity 3M --trace " + precious + " --json " + precious),
                "is the same file as --trace");
  check_refused(run_canopy(workshop, "compare --curve --trace " + precious + " --json " + precious),
                "is the same file as --trace");
  const std::string curve = "compare --curve --trace " + precious;
  check_refused(run_canopy(workshop, curve + " " + kEngine), "the engine file and --curve do not fit together");
  check_refused(run_canopy(workshop, curve + " --policy lru"), "--policy and --curve do not fit together");
  check_refused(run_canopy(workshop, curve + " --html page"), "--html and --curve do not fit together");
  check_refused(run_canopy(workshop, "compare --trace " + precious), "expected an engine file");
  check_refused(compare(workshop, some + "--sample 0.5"), "--sample requires --curve");
  check_refused(compare(workshop, some + "--page-size 16,64"), "--page-size 16,64: only --curve compares several");
  check_refused(run_canopy(workshop, "compare --curve --trace " + precious + " --page-size 0"), "outside");
  check_refused(run_canopy(workshop, "compare --curve --trace " + precious + " --warm-up 3"), "leaves none to count");
  CHECK(slurp(precious) == trace(3));
  CHECK(run_canopy(workshop, "compare --curve --trace " + precious + " --sample 2").status == 2);
}

TEST_CASE("a policy of an engine with windows is compared, without shares of an optimum that is not computed") {
  const Workshop workshop;
  const fs::path out = workshop.path / "out.json";
  const Ended run = compare(workshop, kMixed + " --policy lru,slru --capacity 60k --json " + out.string(),
                            (kSource / "configs/engines/sliding_window.yaml").string());
  REQUIRE_MESSAGE(run.status == 0, run.err);
  const json all = read(out);
  for (const json& row : all["rows"]) {
    CHECK(row["optimum_share"].is_null());
    CHECK(row["hit_tokens"] > 0);
  }
  CHECK_FALSE(has(run.out, "of the optimum"));
}

TEST_CASE("a signal ends a comparison with the rows that are whole, and writes no file") {
  const Workshop workshop;
  const fs::path out = workshop.path / "out.json";
  const std::string long_one = workshop.file("long.yaml", "requests: 200000\nmix:\n  - chat: {}\n");
  std::string capacities = "20k";
  for (int i = 3; i < 40; ++i) capacities += "," + std::to_string(i) + "0k";
  Started compared(workshop, "compared",
                   "compare " + kEngine + " --workload " + long_one + " --policy lru --capacity " + capacities +
                       " --json " + out.string());
  ::usleep(700'000);
  const Ended run = compared.end(SIGINT);
  CHECK(run.status == 130);
  CHECK_MESSAGE(has(run.err, "SIGINT stopped it"), run.err);
  CHECK_FALSE(fs::exists(out));
}

TEST_CASE("a curve has its points, exact ones without an error, and says what replays differ by") {
  const Workshop workshop;
  const fs::path out = workshop.path / "out.json", report = workshop.path / "r.json";
  const Ended run =
      run_canopy(workshop, "compare --curve" + kMixed + " --capacity 60k --page-size 16,64 --json " + out.string());
  REQUIRE_MESSAGE(run.status == 0, run.err);
  const json curve = read(out);
  CHECK(curve["page_size"] == 16);
  REQUIRE(curve["points"].size() > 10);
  double before = 0;
  for (const json& point : curve["points"]) {
    for (const char* key : {"capacity_tokens", "hit_tokens", "hit_rate"}) CHECK(point.contains(key));
    CHECK_FALSE(point.contains("error"));
    CHECK(point["hit_rate"].get<double>() >= before);
    before = point["hit_rate"];
  }
  REQUIRE(curve["curves"].size() == 2);
  CHECK(curve["curves"][1]["page_size"] == 64);
  REQUIRE(curve["replays"].size() == 1);
  REQUIRE(run_canopy(workshop, "replay " + (kSource / "configs/engines/lru.yaml").string() + kMixed +
                                   " --store none --capacity 60k --json " + report.string())
              .status == 0);
  CHECK(curve["replays"][0]["hit_tokens"] == read(report)["hit_tokens"]);
  for (const char* words : {"Your pool of 60,000 tokens reuses", "Doubling it gains", "Beyond ", "more gains nothing",
                            "which evicts whole nodes", "Pages of 64 can reuse"})
    CHECK_MESSAGE(has(run.out, words), run.out);

  const Ended sampled = run_canopy(workshop, "compare --curve" + kMixed + " --sample 0.3 --json " + out.string());
  REQUIRE(sampled.status == 0);
  CHECK(has(sampled.out, "with 95 % confidence"));
  CHECK(read(out)["points"][0].contains("error"));
}

TEST_CASE("a comparison counts no hits of a request that did not fit") {
  const Workshop workshop;
  const std::string engine = (kSource / "configs/engines/lru.yaml").string(),
                    json_file = (workshop.path / "c.json").string();
  const std::string trace =
      workshop.file("t.jsonl", R"({"timestamp": 0, "input_length": 512, "output_length": 1, "hash_ids": [1]})"
                               "\n"
                               R"({"timestamp": 1, "input_length": 1536, "output_length": 1, "hash_ids": [1, 2, 3]})"
                               "\n");
  const Ended run = compare(workshop,
                            "--trace " + trace + " --policy lru --capacity 1024 --json " + json_file + " --requests " +
                                (workshop.path / "r.csv").string(),
                            engine);
  REQUIRE_MESSAGE(run.status == 0, run.err);
  const json row = read(json_file)["rows"][0];
  CHECK(row["rejected"] == 1);
  CHECK(row["hit_tokens"] == 0);
  CHECK(has(run.out, "hit rate of all prompts"));
  CHECK(has(run.out, "0.00 %, 1 rejected"));
  // A rejected request leaves nothing in the cache: it is not known what was evicted too early.
  CHECK(row["regret"].is_null());
  for (const auto& [kind, slices] : row["slices"].items())
    for (const json& slice : slices) CHECK_MESSAGE(slice["regret_tokens"].is_null(), kind);
  CHECK(has(slurp(workshop.path / "r.csv"), ",1536,1,512,0\n"));
}

TEST_CASE("a share of the pages with fewer than a curve needs is refused") {
  const Workshop workshop;
  check_refused(run_canopy(workshop, "compare --curve --sample 0.00001 --workload " +
                                         (kSource / "configs/workloads/chat.yaml").string()),
                "--sample: a sample of 1e-05 has ");
}

TEST_CASE("a recording that has tokens is a trace: what it replays and compares is what was recorded") {
  const Workshop workshop;
  const std::string engine = (kSource / "configs/engines/lru.yaml").string();
  const auto in = [&](const char* name) { return (workshop.path / name).string(); };
  const auto report_of = [&](const std::string& options, const char* name) {
    const Ended run = run_canopy(workshop, "replay " + engine + options + " --limit 300 --capacity 20k --store none" +
                                               " --no-content --json " + in(name));
    REQUIRE_MESSAGE(run.status == 0, run.err);
    return read(in(name));
  };
  const json recorded =
      report_of(kMixed + " --record " + in("run.feed") + " --set feed.file.tokens=true", "recorded.json");
  const json again = report_of(" --trace " + in("run.feed"), "again.json");
  REQUIRE(recorded["hit_tokens"] > 0);
  REQUIRE(recorded["evicted_tokens"] > 0);
  for (const char* key : {"requests", "prompt_tokens", "hit_tokens", "evicted_tokens", "digest"})
    CHECK_MESSAGE(recorded[key] == again[key], key);
  const Ended run = compare(
      workshop, "--trace " + in("run.feed") + " --policy lru,optimum --capacity 20k --json " + in("c.json"), engine);
  REQUIRE_MESSAGE(run.status == 0, run.err);
  CHECK(read(in("c.json"))["rows"][0]["digest"] == recorded["digest"]);

  // Requests of namespaces, several at a time.
  const json timed = report_of(" --workload " + (kSource / "configs/workloads/rag.yaml").string() +
                                   " --mode timed --record " + in("timed.feed") + " --set feed.file.tokens=true",
                               "timed.json");
  const json serial = report_of(" --trace " + in("timed.feed"), "serial.json");
  CHECK(serial["requests"] == timed["requests"]);
  CHECK(serial["prompt_tokens"] == timed["prompt_tokens"]);

  check_refused(compare(workshop, "--trace " + in("run.feed") + " --blocks --capacity 20k", engine),
                "--blocks: " + in("run.feed") + " has token ids and no blocks");
  report_of(kMixed + " --record " + in("bare.feed"), "bare.json");
  check_refused(compare(workshop, "--trace " + in("bare.feed") + " --capacity 20k", engine),
                in("bare.feed") +
                    ": the recording has no tokens, so its requests are unknown; record with tokens: "
                    "true in the engine's feed");
}

TEST_CASE("the last part of a block counts with the tokens that it has: distinct and reused are the prompts") {
  const Workshop workshop;
  const fs::path out = workshop.path / "out.json";
  const Ended run = compare(workshop, "--trace " + workshop.file("t.jsonl", trace(400)) +
                                          " --blocks --policy lru,optimum --capacity 20k --json " + out.string());
  REQUIRE_MESSAGE(run.status == 0, run.err);
  const json all = read(out);
  CHECK(all["distinct_tokens"].get<std::uint64_t>() + all["infinite_tokens"].get<std::uint64_t>() ==
        all["prompt_tokens"].get<std::uint64_t>());
}

TEST_CASE("turns are those of the trace where it has them, and times are of the requests that had a first token") {
  const Workshop workshop;
  const std::string engine = (kSource / "configs/engines/lru.yaml").string();
  const fs::path out = workshop.path / "out.json";
  const auto line = [](int ms, int turn, int length, int first) {
    std::string tokens;
    for (int i = 0; i < length; ++i) tokens += (i ? ", " : "") + std::to_string(first + i);
    return "{\"time_ms\": " + std::to_string(ms) + ", \"turn\": " + std::to_string(turn) + ", \"tokens\": [" + tokens +
           "], \"output_tokens\": 4}\n";
  };
  const std::string file = workshop.file("t.jsonl", line(0, 1, 40, 1) + line(1000, 7, 320, 1));
  const Ended run = compare(workshop,
                            "--trace " + file + " --policy lru,fifo --capacity 160 --mode timed --json " +
                                out.string() + " --abort-permille 0 --by turn",
                            engine);
  REQUIRE_MESSAGE(run.status == 0, run.err);
  const json all = read(out), row = all["rows"][0];
  CHECK(row["slices"]["turn"][1]["name"] == "turn 5 to 8");
  CHECK(row["rejected"] == 1);
  CHECK(row["answered"] == 1);
  CHECK(has(run.out, " of 1 of 2 requests"));
  CHECK(all["infinite_tokens"].is_null());
  CHECK(row["regret"].is_null());
}
