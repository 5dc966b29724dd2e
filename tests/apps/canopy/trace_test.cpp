/// `canopy trace`: an import replays as its source does, figures equal the JSON's, and outputs are safe.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "program.h"

using namespace cli;

namespace {

const char* const kTrace =
    R"({"timestamp": 0, "input_length": 1500, "output_length": 9, "hash_ids": [1, 2, 3]}
{"timestamp": 61000, "input_length": 1500, "output_length": 9, "hash_ids": [1, 2, 4]}
{"timestamp": 61000, "input_length": 1500, "output_length": 9, "hash_ids": [1, 2, 3]}
)";

std::string digest_of(const Ended& replay) {
  const std::size_t at = replay.out.find("digest ");
  return at == std::string::npos ? replay.err : replay.out.substr(at);
}

}  // namespace

TEST_CASE("an imported trace replays as the trace it came from") {
  const Workshop workshop;
  const std::string trace = workshop.file("trace.jsonl", kTrace), own = (workshop.path / "own.jsonl").string();
  const Ended import = run_canopy(workshop, "trace import " + trace + " --output " + own);
  CHECK(import.status == 0);
  CHECK(has(import.out, "3 requests, 4,500 prompt tokens"));
  const std::string replay = "replay " + (kSource / "configs/engines/sglang_lru.yaml").string() + " --trace ";
  const Ended first = run_canopy(workshop, replay + trace), second = run_canopy(workshop, replay + own);
  CHECK(first.status == 0);
  CHECK(has(first.out, "digest "));
  CHECK(digest_of(first) == digest_of(second));
}

TEST_CASE("a trace's figures are printed and written") {
  const Workshop workshop;
  const std::string trace = workshop.file("trace.jsonl", kTrace), json = (workshop.path / "out.json").string();
  const Ended stat = run_canopy(workshop, "trace stat " + trace + " --json " + json);
  CHECK(stat.status == 0);
  CHECK(has(stat.out, "4,500 tokens"));
  CHECK(has(stat.out, "2,524 tokens, 56.09 % of the prompts: whole units that an earlier prompt had"));
  CHECK_FALSE(has(stat.out, "no cache"));  // smaller pages reuse more of these prompts: the tails of blocks 3
  CHECK(has(stat.out, "Reused tokens by the time since their last use"));
  const auto facts = nlohmann::json::parse(slurp(json));
  CHECK(facts.at("unit") == 512);
  CHECK(facts.at("distinct_tokens") == 1976);
  CHECK(facts.at("reused_tokens") == 2524);
  CHECK(facts.at("resent_requests") == 2);
  CHECK(facts.at("tenants").size() == 1);
}

TEST_CASE("what cannot be imported leaves nothing behind") {
  const Workshop workshop;
  const std::string bad = workshop.file("bad.jsonl", std::string(kTrace) + "{\"timestamp\": -1}\n");
  const std::string out = workshop.file("out.jsonl", "old");
  const Ended import = run_canopy(workshop, "trace import " + bad + " --output " + out);
  CHECK(import.status == 2);
  CHECK(has(import.err, "bad.jsonl:4:2: 'timestamp' is -1"));
  CHECK(slurp(out) == "old");
  CHECK(std::distance(fs::directory_iterator(workshop.path), {}) == 4);  // the two, and the program's own outputs
  const Ended onto = run_canopy(workshop, "trace import " + bad + " --output " + bad);
  CHECK(onto.status == 2);
  CHECK(has(onto.err, "is the same file as the trace"));
  const Ended beside = run_canopy(workshop, "trace stat qwen:" + bad + " --json " + bad);
  CHECK(beside.status == 2);
  CHECK(has(beside.err, "is the same file as the trace"));
  CHECK(run_canopy(workshop, "trace import " + bad).status == 2);
  CHECK(has(run_canopy(workshop, "trace stat csv:" + bad + " --columns id=1").err, "expected at least id and size"));
}
