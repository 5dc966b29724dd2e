#include "program.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <thread>

namespace {

using namespace cli;

std::string config(const std::string& name) { return (kSource / "configs/engines" / name).string(); }

std::string trace(int requests, int broken_line = 0) {
  std::string text;
  for (int i = 1; i <= requests; ++i)
    text += i == broken_line ? "{\"timestamp\": 0, \"input_length\": -3, \"output_length\": 1, \"hash_ids\": [1]}\n"
                             : "{\"timestamp\": " + std::to_string(i) +
                                   ", \"input_length\": 700, \"output_length\": 5, \"hash_ids\": [" +
                                   std::to_string(i % 7) + ", " + std::to_string(100 + i % 80) + "]}\n";
  return text;
}

}  // namespace

TEST_CASE("every engine that is shipped can be read, dumped, and read back to the same") {
  const Workshop workshop;
  for (const auto& entry : fs::directory_iterator(kSource / "configs/engines")) {
    CAPTURE(entry.path().string());
    const Ended check = run_canopy(workshop, "config check " + entry.path().string());
    CHECK_MESSAGE(check.status == 0, check.err);
    const Ended dump = run_canopy(workshop, "config dump " + entry.path().string());
    REQUIRE(dump.status == 0);
    const std::string again = workshop.file("again.yaml", dump.out);
    CHECK(run_canopy(workshop, "config dump " + again).out == dump.out);
  }
}

TEST_CASE("every key of an engine's file is described, a line each") {
  const Workshop workshop;
  const Ended described = run_canopy(workshop, "config describe");
  CHECK(described.status == 0);
  // Columns are as wide as the widest key.
  const std::string lines = std::regex_replace(described.out, std::regex(" {2,}"), "  ");
  for (const char* line :
       {"  page_size  tokens in a page  (1..65536; required)\n",
        "  key  codec from tokens to the words of a key  (bigram or token; default token)\n",
        "  groups.<name>.capacity  limit of the pool in tokens, or `unlimited`  (unlimited or at least 1; required)\n",
        "  feed.shm.name  the name to which an inspector attaches  (text; required)\n"})
    CHECK_MESSAGE(has(lines, line), described.out);
  // Every key that a configuration dumps is described.
  const Ended dump = run_canopy(workshop, "config dump " + config("lru.yaml"));
  for (const char* key :
       {"page_size", "key", "index", "groups", "store", "feed", "segment_pages", "idle_segments", "insert_at_finish"}) {
    CHECK(has(dump.out, std::string(key) + ":"));
    CHECK(has(described.out, "\n  " + std::string(key) + " "));
  }
}

TEST_CASE("every workload that is shipped runs through an engine, serial and timed, without a violation") {
  const Workshop workshop;
  for (const auto& entry : fs::directory_iterator(kSource / "configs/workloads"))
    for (const char* mode : {"serial", "timed"}) {
      CAPTURE(entry.path().string());
      const Ended run = run_canopy(workshop, "replay " + config("lru.yaml") + " --workload " + entry.path().string() +
                                                 " --limit 150 --mode " + mode);
      CHECK_MESSAGE(run.status == 0, run.err);
      CHECK(has(run.out, " 0 violations"));
    }
}

TEST_CASE("a typo in a configuration is a sentence with a place and the nearest name") {
  const Workshop workshop;
  const std::string file =
      workshop.file("typo.yaml",
                    "page_size: 16\n"
                    "groups:\n"
                    "  full: { reach: path, capacity: 3000, allocator: free_list, evicton: lru }\n");
  const Ended run = run_canopy(workshop, "config check " + file);
  CHECK(run.status == 2);
  CHECK_MESSAGE(has(run.err, file + ":3:"), run.err);
  CHECK(has(run.err, "evicton"));
  CHECK(has(run.err, "Did you mean 'eviction'?"));
  CHECK(run.out.empty());
}

TEST_CASE("an unknown policy on the command line names those that are known") {
  const Workshop workshop;
  const std::string file = workshop.file("trace.jsonl", trace(3));
  const Ended run = run_canopy(workshop, "replay " + config("lru.yaml") + " --trace " + file + " --policy lru2");
  CHECK(run.status == 2);
  CHECK_MESSAGE(has(run.err, "no eviction strategy is called 'lru2'. Did you mean 'lru'?"), run.err);
}

TEST_CASE("a broken line 4711 stops a replay with its number, and no report is written") {
  const Workshop workshop;
  const std::string file = workshop.file("broken.jsonl", trace(5000, 4711));
  const fs::path report = workshop.path / "report.json";
  const Ended run =
      run_canopy(workshop, "replay " + config("sglang_lru.yaml") + " --trace " + file + " --json " + report.string());
  CHECK(run.status == 2);
  CHECK_MESSAGE(has(run.err, file + ":4711:18: "), run.err);
  CHECK(has(run.err, "-3"));
  CHECK_FALSE(fs::exists(report));
}

TEST_CASE("a report has every figure, and the figures are those of the run") {
  const Workshop workshop;
  const std::string file = workshop.file("trace.jsonl", trace(500));
  const fs::path report = workshop.path / "report.json";
  const Ended run = run_canopy(workshop, "replay " + config("sglang_lru.yaml") + " --trace " + file +
                                             " --capacity 12000 --json " + report.string());
  REQUIRE_MESSAGE(run.status == 0, run.err);
  const auto json = nlohmann::json::parse(slurp(report));
  for (const char* name : {"requests", "prompt_tokens", "hit_tokens", "hit_rate", "evict_calls", "evicted_tokens",
                           "rejected", "resident_tokens", "nodes", "index_bytes", "inserts_cut_short", "index_seconds",
                           "seconds", "ledger_checks", "content_checks", "violations", "digest", "seed"})
    CHECK_MESSAGE(json.contains(name), name);
  CHECK(json["requests"] == 500);
  CHECK(json["prompt_tokens"] == 350000);
  CHECK(json["violations"] == 0);
  CHECK(json["content_checks"] == json["hit_tokens"]);
  CHECK(json["hit_tokens"] > 0);
  CHECK(json["evicted_tokens"] > 0);
  CHECK(json["resident_tokens"] <= 12000);
  // The engine, so that the files of a sweep can be distinguished.
  CHECK(json["groups"][0]["policy"] == "lru");
  const std::string version = json["groups"][0]["policy_version"], made = json["engine_digest"];
  CHECK_FALSE(version.empty());
  CHECK(has(run.out, ", policy lru " + version + ", seed 0, engine " + made + "\n"));
  const auto engine_of = [&](const std::string& arguments) {
    const Ended other =
        run_canopy(workshop, "replay " + config("sglang_lru.yaml") + " --trace " + file + " --no-content " + arguments +
                                 " --capacity 12000 --json " + report.string());
    CHECK_MESSAGE(other.status == 0, other.err);
    return nlohmann::json::parse(slurp(report));
  };
  CHECK(engine_of("")["engine_digest"] == made);
  CHECK(engine_of("--record " + (workshop.path / "r.feed").string())["engine_digest"] == made);
  const auto slru = engine_of("--policy '{ slru: { protect_after: 3 } }'");
  CHECK(slru["groups"][0]["policy"] == "slru");
  CHECK(slru["engine_digest"] != made);
  CHECK(slru["engine_digest"] != engine_of("--policy slru")["engine_digest"]);
  const std::string digest = json["digest"];
  CHECK(has(run.out, "digest " + digest));
  // The same without content checks; another for another capacity.
  const std::string again = "replay " + config("sglang_lru.yaml") + " --trace " + file;
  CHECK(has(run_canopy(workshop, again + " --capacity 12000 --no-content").out, "digest " + digest));
  CHECK_FALSE(has(run_canopy(workshop, again + " --capacity 13000").out, "digest " + digest));
}

TEST_CASE("--set, --policy, --index and --page-size reach the engine") {
  const Workshop workshop;
  const std::string file = workshop.file("trace.jsonl", trace(300));
  const auto hits = [&](const std::string& arguments) {
    const fs::path report = workshop.path / "report.json";
    const Ended run = run_canopy(workshop, "replay " + config("sglang_lru.yaml") + " --trace " + file +
                                               " --capacity 12000 --json " + report.string() + " " + arguments);
    REQUIRE_MESSAGE(run.status == 0, run.err);
    return nlohmann::json::parse(slurp(report));
  };
  const auto plain = hits("");
  CHECK(hits("--policy mru")["digest"] != plain["digest"]);
  CHECK(hits("--set groups.full.eviction=mru")["digest"] == hits("--policy mru")["digest"]);
  CHECK(hits("--page-size 64")["page_size"] == 64);
  CHECK(hits("--index radix")["digest"] == hits("--set index=radix")["digest"]);
  CHECK(hits("--index 'null'")["hit_tokens"] == 0);
  const auto table = hits("--index hash_chain");
  CHECK(table["violations"] == 0);
  CHECK(table["hit_tokens"] > 0);
  CHECK(table["nodes"] == table["resident_tokens"].get<std::uint64_t>() / plain["page_size"].get<std::uint64_t>());
  // A prompt that is there as a whole is computed from its last page on.
  CHECK(hits("--min-uncached 1")["hit_tokens"] <= plain["hit_tokens"]);
  const Ended refused = run_canopy(workshop, "replay " + config("sglang_lru.yaml") + " --trace " + file +
                                                 " --index hash_chain --policy lfu --capacity 12000");
  CHECK(refused.status == 2);
  CHECK_MESSAGE(has(refused.err, "the group's policy must be lru"), refused.err);
  CHECK(hits("--set index.radix.accounting=default")["violations"] == 0);
}

TEST_CASE("the demo ends in one line that is the same for the same seed") {
  const Workshop workshop;
  const auto last_line = [&](const std::string& arguments) {
    const Ended run = run_canopy(workshop, "demo " + arguments);
    REQUIRE_MESSAGE(run.status == 0, run.err);
    const std::string text = run.out.substr(0, run.out.size() - 1);
    return text.substr(text.rfind('\n') + 1);
  };
  const std::string first = last_line("--seed 5");
  CHECK(has(first, " checks, 0 violations, seed 5, digest "));
  CHECK(first == last_line("--seed 5"));
  CHECK(first != last_line("--seed 6"));
}

TEST_CASE("output that is no terminal has no colour and no cursor movement") {
  const Workshop workshop;
  for (const char* command : {"demo", "plugins", "plugins describe radix", "config describe"}) {
    const Ended run = run_canopy(workshop, command);
    CHECK_FALSE(has(run.out, "\033"));
    CHECK_FALSE(has(run.err, "\033"));
  }
}

TEST_CASE("plugins are listed, described and checked") {
  const Workshop workshop;
  const Ended list = run_canopy(workshop, "plugins");
  CHECK(list.status == 0);
  for (const char* name : {"radix", "null", "token", "lru", "free_list", "host"}) CHECK(has(list.out, name));
  const Ended described = run_canopy(workshop, "plugins describe host");
  CHECK(described.status == 0);
  CHECK(has(described.out, "layers"));
  CHECK(run_canopy(workshop, "plugins describe hots").status == 2);
  const Ended junk = run_canopy(workshop, "plugins check " + workshop.file("junk.so", "this is no library"));
  CHECK(junk.status == 1);
  CHECK(has(junk.out, "refused"));
}

TEST_CASE("a new policy is written once, under a plain name, and never over an existing file") {
  const Workshop workshop;
  const std::string in = "cd " + workshop.path.string() + " && " + (kBin / "canopy").string() + " plugins new ";
  CHECK(std::system((in + "two_hits >/dev/null").c_str()) == 0);
  CHECK(has(slurp(workshop.path / "two_hits/two_hits.cpp"), "class TwoHits final"));
  CHECK(has(slurp(workshop.path / "two_hits/CMakeLists.txt"), "canopy_add_plugin(NAME two_hits"));
  // Names that would not build: a class with a member of its name, and targets of CMake itself.
  CHECK(std::system((in + "config >/dev/null").c_str()) == 0);
  CHECK(has(slurp(workshop.path / "config/config.cpp"), "class ConfigPlugin final"));
  CHECK(std::system((in + "storage far >/dev/null").c_str()) == 0);
  CHECK(has(slurp(workshop.path / "far/far.cpp"), "provide<canopy::PageStorage, canopy::AsyncStorage<Far>>("));
  CHECK(std::system((in + "codec >/dev/null").c_str()) == 0);
  CHECK(has(slurp(workshop.path / "my_codec/my_codec.cpp"), "class MyCodec final"));
  const Ended wrong = run_canopy(workshop, "plugins new polcy mine");
  CHECK(wrong.status == 2);
  CHECK(has(wrong.err, "no kind of plugin is called 'polcy'. Did you mean 'policy'?"));
  for (const char* name : {"two_hits", "../elsewhere", "Two", "2hits", "''", "all", "help", "install", "test"})
    CHECK(std::system((in + name + " >/dev/null 2>&1").c_str()) / 256 == 2);
}

TEST_CASE("an option that would change nothing is refused and not passed over") {
  const Workshop workshop;
  const std::string replay = "replay " + config("lru.yaml") + " --trace " + workshop.file("trace.jsonl", trace(3));
  for (const auto& [arguments, sentence] : {std::pair("--seed 5", "--seed requires --workload"),
                                            {"--running 8", "--running needs --mode timed"},
                                            {"--schedule lpm", "--schedule needs --mode timed"},
                                            {"--rematch", "--rematch needs --mode timed"},
                                            {"--mode timed --min-uncached 2", "--min-uncached needs --mode serial"},
                                            {"--mode timed --schedule lmp", "--schedule: Check lmp value in {"},
                                            {"--mode serial --prefill 8", "--prefill needs --mode timed"}}) {
    const Ended run = run_canopy(workshop, replay + " " + arguments);
    CHECK(run.status == 2);
    CHECK_MESSAGE(has(run.err, sentence), run.err);
    CHECK(run.out.empty());
  }
  CHECK(run_canopy(workshop, replay + " --running 8 --mode timed").status == 0);
  const Ended scheduled = run_canopy(workshop, replay + " --mode timed --schedule lpm --schedule-limit 0");
  CHECK(scheduled.status == 0);
  CHECK_MESSAGE(has(scheduled.out, "waiting time  mean "), scheduled.out);
  CHECK_MESSAGE(has(scheduled.out, ", order lpm\n"), scheduled.out);
  const Ended late = run_canopy(workshop, replay + " --resize 3:64 --resize 4:64");
  CHECK(late.status == 2);
  CHECK_MESSAGE(has(late.err, "--resize 4: the run had 3 requests, so this limit was never set"), late.err);
  CHECK(has(late.out, "resized       1 time"));
}

TEST_CASE("a workload is checked as an engine is, and neither may take gigabytes unasked") {
  const Workshop workshop;
  for (const auto& entry : fs::directory_iterator(kSource / "configs/workloads"))
    CHECK(run_canopy(workshop, "config check " + entry.path().string()).status == 0);
  const std::string huge = workshop.file("huge.yaml", "mix:\n  - thrash: { prompt_tokens: 100M }\n");
  Ended run = run_canopy(workshop, "config check " + huge);
  CHECK(run.status == 2);
  CHECK_MESSAGE(has(run.err, "huge.yaml:2:13: thrash may make a prompt of 100000000 tokens, 3.7 GiB of memory"),
                run.err);
  CHECK(run_canopy(workshop, "config check " + huge + " --set mix.0.thrash.prompt_tokens=1k").status == 0);
  // Whatever a check calls fine can be made.
  const std::string lru = config("lru.yaml") + " --set groups.full.capacity=68719476704 --set store=none";
  run = run_canopy(workshop, "config check " + lru);
  CHECK(run.status == 2);
  CHECK_MESSAGE(has(run.err, "4,294,967,294 pages, whose books alone take 32.0 GiB of memory"), run.err);
  CHECK(run_canopy(workshop, "config check " + lru + " --set groups.full.start=1M").status == 0);
  run = run_canopy(workshop, "replay " + lru + " --set groups.full.start=1M --limit 5 --workload " +
                                 (kSource / "configs/workloads/chat.yaml").string());
  CHECK_MESSAGE(run.status == 0, run.err);
}

TEST_CASE("nothing to do, unknown words and missing files are usage errors, not crashes") {
  const Workshop workshop;
  CHECK(run_canopy(workshop, "").status == 0);
  CHECK(run_canopy(workshop, "replai").status == 2);
  CHECK(run_canopy(workshop, "--help").status == 0);
  CHECK(run_canopy(workshop, "replay " + config("lru.yaml")).status == 2);
  CHECK(run_canopy(workshop, "replay /nowhere.yaml --trace /nowhere.jsonl").status == 2);
  const Ended missing = run_canopy(workshop, "replay " + config("lru.yaml") + " --trace /nowhere.jsonl");
  CHECK(missing.status == 2);
  CHECK(has(missing.err, "/nowhere.jsonl"));
  CHECK(run_canopy(workshop, "replay " + config("lru.yaml") + " --trace " + workshop.path.string()).status == 2);
  const Ended fly = run_canopy(workshop, "--plugins . repaly x");
  CHECK(fly.status == 2);
  CHECK(has(fly.err, "canopy: 'repaly' is no command. Did you mean 'replay'?"));
  CHECK(has(run_canopy(workshop, "trace sort").err, "canopy trace: 'sort' is no command"));
  CHECK(has(run_canopy(workshop, "trace").err, "canopy trace: a command is missing"));
}

TEST_CASE("output that cannot be kept, numbers that are none, and memory that is not there end in a sentence") {
  const Workshop workshop;
  const std::string file = workshop.file("trace.jsonl", trace(3)), engine = config("lru.yaml");
  CHECK(std::system(((kBin / "canopy").string() + " config dump " + engine + " >/dev/full 2>/dev/null").c_str()) /
            256 ==
        2);
  CHECK(run_canopy(workshop, "config check /nowhere.yaml 2>&-").status == 2);
  for (const char* argument : {"--limit -1", "--limit 99999999999999999999", "--running 0", "--seed 1M"}) {
    const Ended run = run_canopy(workshop, "replay " + engine + " --trace " + file + " " + argument);
    CHECK(run.status == 2);
    CHECK_MESSAGE(has(run.err, "is not a whole number from"), run.err);
  }
  for (const auto& [argument, message] : {std::pair("--limit 0100", "'0100' begins with 0; write 100"),
                                          {"--seed 010", "'010' begins with 0; write 10"},
                                          {"--seed 09", "'09' begins with 0; write 9"}}) {
    const Ended run = run_canopy(workshop, "replay " + engine + " --trace " + file + " " + argument);
    CHECK(run.status == 2);
    CHECK_MESSAGE(has(run.err, message), run.err);
  }
  for (const char* arguments : {"--curve --sample nan", "--curve --sample 2", "--curve --sample 0.5x",
                                "--by flops --flop-depth nan", "--by flops --flop-depth inf"}) {
    const Ended run = run_canopy(workshop, "compare " + engine + " --trace " + file + " " + arguments);
    CHECK(run.status == 2);
    CHECK_MESSAGE(has(run.err, "is not a number from"), run.err);
  }
  const std::string replay = "replay " + engine + " --trace " + file;
  CHECK(has(run_canopy(workshop, replay + " --capacity 0").err, "groups.full.capacity = 0 is outside"));
  CHECK(has(run_canopy(workshop, replay + " --page-size x").err, "page_size = 'x' is not a whole number"));
  CHECK(run_canopy(workshop, replay + " --capacity 12k").status == 0);
  const Ended huge = run_canopy(workshop, "replay " + engine + " --trace " + file + " --capacity 1000000000000000");
  CHECK(huge.status == 2);
  CHECK_MESSAGE(has(huge.err, "the most a pool can number"), huge.err);
  const Ended device = run_canopy(workshop, "replay " + engine + " --trace " + file + " --json /dev/null");
  CHECK(device.status == 2);
  CHECK(fs::is_character_file("/dev/null"));
}

TEST_CASE("a replay is recorded, served and looked at while it runs, and changes nothing by it") {
  const Workshop workshop;
  const std::string replay = "replay " + config("sliding_window.yaml") + " --workload " +
                             (kSource / "configs/workloads/chat.yaml").string() + " --mode timed --limit 60";
  const fs::path recorded = workshop.path / "run.feed";
  const Ended plain = run_canopy(workshop, replay),
              recorder = run_canopy(workshop, replay + " --record " + recorded.string());
  CHECK(plain.status == 0);
  CHECK(recorder.status == 0);
  const auto digest = [](const Ended& run) { return run.out.substr(run.out.find("digest ")); };
  CHECK(digest(plain) == digest(recorder));
  CHECK(fs::file_size(recorded) > 100'000);
  CHECK(run_canopy(workshop, replay + " --record /nowhere/run.feed")
            .err.find("/nowhere/run.feed: No such file or directory") != std::string::npos);
  CHECK(run_canopy(workshop, replay + " --record a --feed b").status == 2);

  const std::string name = "cli-" + std::to_string(::getpid());
  const pid_t child = ::fork();
  if (child == 0) {
    const Workshop own;  // its output is not to be mixed with ours
    run_canopy(own, replay + " --pace 20 --feed " + name);
    std::error_code ignored;
    fs::remove_all(own.path, ignored);
    ::_exit(0);
  }
  Ended shown;
  for (int tries = 0; tries < 50 && !has(shown.out, "Next to be evicted"); ++tries) {
    ::usleep(100'000);
    shown = run_canopy(workshop, "top --feed " + name + " --once");
  }
  CHECK(shown.status == 0);
  CHECK_MESSAGE(has(shown.out, "drift 0"), (shown.out + shown.err));
  CHECK(has(shown.out, "Hottest prefixes"));
  CHECK(has(shown.out, "Next to be evicted from window, policy lru"));
  const Ended unknown = run_canopy(workshop, "top --feed unknown-" + name);
  CHECK(unknown.status == 2);
  CHECK(has(unknown.err, "there is no feed with this name; there is "));
  ::waitpid(child, nullptr, 0);
}

TEST_CASE("killed in the middle, a run leaves no report behind") {
  const Workshop workshop;
  const std::string file = workshop.file("trace.jsonl", trace(200000));
  const fs::path report = workshop.path / "report.json";
  const std::string program = (kBin / "canopy").string(), engine = config("sglang_lru.yaml"), path = report.string();
  std::fflush(nullptr);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    if (!std::freopen("/dev/null", "w", stdout) || !std::freopen("/dev/null", "w", stderr)) _exit(126);
    execl(program.c_str(), "canopy", "replay", engine.c_str(), "--trace", file.c_str(), "--json", path.c_str(),
          nullptr);
    _exit(127);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(150));
  kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(WIFSIGNALED(status));
  CHECK_FALSE(fs::exists(report));
}
