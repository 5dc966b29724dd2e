/// `canopy trace`: an import replays as its source does, figures equal the JSON's, and outputs are safe.
#include <doctest/doctest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

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

TEST_CASE("a wish to keep more than the prompt is said to be cut, by trace stat and by a replay") {
  const Workshop workshop;
  const std::string trace = workshop.file(
      "t.jsonl",
      R"({"time_ms": 0, "tokens": [1, 2, 3, 4], "output_tokens": 4, "retention": [{"tokens": 8, "seconds": 60}]})"
      "\n");
  const char* const note = "1 request wish to keep more than the prompt: the wish is cut to the prompt, 4 tokens less";
  CHECK(has(run_canopy(workshop, "trace stat " + trace).out, note));
  const Ended replay =
      run_canopy(workshop, "replay " + (kSource / "configs/engines/lru.yaml").string() + " --trace " + trace);
  CHECK_MESSAGE(has(replay.out, note), replay.out);
}

TEST_CASE("an import says as which format it read the file") {
  const Workshop workshop;
  const std::string sent = workshop.file("sent.jsonl", R"({"messages": [{"role": "user", "content": "a b"}]})"
                                                       "\n");
  const Ended import =
      run_canopy(workshop, "trace import " + sent + " --output " + (workshop.path / "o.jsonl").string());
  CHECK(import.status == 0);
  CHECK_MESSAGE(has(import.out, "read as openai ("), import.out);
}

TEST_CASE("--priorities high-first starts the waiting request with the highest priority first") {
  const Workshop workshop;
  std::string lines;
  for (int i = 0; i < 4; ++i) {
    lines += "{\"time_ms\": " + std::to_string(i) + ", \"priority\": " + (i == 3 ? "9" : "0") +
             ", \"output_tokens\": 4, \"tokens\": [";
    for (int token = 0; token < 64 + i; ++token) lines += (token ? ", " : "") + std::to_string(1000 * i + token);
    lines += "]}\n";
  }
  const std::string trace = workshop.file("p.jsonl", lines), feed = (workshop.path / "run.feed").string();
  // The lengths of the prompts in the order in which the requests started.
  const auto started = [&](const std::string& option) {
    const Ended run =
        run_canopy(workshop, "replay " + (kSource / "configs/engines/lru.yaml").string() + " --trace " + trace +
                                 " --mode timed --running 1 --abort-permille 0 --record " + feed + option);
    CHECK_MESSAGE(run.status == 0, run.err);
    std::istringstream rows(run_canopy(workshop, "inspect --csv requests " + feed).out);
    std::map<std::uint64_t, std::string> prompts;
    for (std::string row; std::getline(rows, row);) {
      std::vector<std::string> cells;
      std::istringstream line(row);
      for (std::string cell; std::getline(line, cell, ',');) cells.push_back(cell);
      if (cells.size() > 9 && cells[0] != "request") prompts[std::stoull(cells[9])] = cells[2];
    }
    std::string order;
    for (const auto& [us, prompt] : prompts) order += prompt + " ";
    return order;
  };
  CHECK(started("") == "64 65 66 67 ");
  CHECK(started(" --priorities high-first") == "64 67 65 66 ");
  CHECK(started(" --priorities low-first") == "64 65 66 67 ");
  CHECK(run_canopy(workshop, "replay x --priorities high-first").status == 2);
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
