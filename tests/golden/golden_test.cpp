#include <canopy/engine/engine.h>
#include <canopy/engine/engine_file.h>
#include <conformance/model/plugins.h>
#include <doctest/doctest.h>
#include <replay/replay.h>
#include <support/shared_folder.h>
#include <verify/verify_recording.h>
#include <workload/mooncake_trace.h>

#include <fstream>
#include <nlohmann/json.hpp>

using namespace canopy;
using namespace canopy::test;

namespace {

/// Returns our engine's results for a row's trace, policy, page and capacity, under the row's names.
nlohmann::json replayed(const nlohmann::json& row, const std::string& trace, bool content) {
  auto document = parse_yaml(
      "index: { radix: { accounting: sglang } }\n"
      "groups: { full: { reach: path, allocator: free_list } }\n"
      "store: { host: { streams: { kv: 8 } } }\n",
      "golden");
  REQUIRE(document);
  for (const std::string& assignment :
       {"page_size=" + row["page"].dump(), "groups.full.capacity=" + row["capacity"].dump(),
        "groups.full.eviction=" + row["policy"].get<std::string>()})
    REQUIRE(set_value(*document, assignment));
  auto config = read_engine_config(*document, plugins());
  REQUIRE_MESSAGE(config, (config ? "" : config.error().text));
  auto engine = Engine::create(*config, plugins());
  REQUIRE(engine);
  auto source = workload::open_mooncake_trace(trace);
  REQUIRE(source);
  replay::Options options;
  options.limit = row["requests"];
  options.content = content;
  auto report = replay::run(**engine, **source, options, {});
  REQUIRE(report);
  CHECK(report->violations == 0);
  if (content) CHECK(report->content_checks == report->hit_tokens);
  return {{"policy", row["policy"]},
          {"page", row["page"]},
          {"capacity", row["capacity"]},
          {"requests", report->requests},
          {"tokens", report->prompt_tokens},
          {"hit", report->hit_tokens},
          {"evict_calls", report->evict_calls},
          {"evicted", report->evicted_tokens},
          {"rejected", report->rejected},
          {"total", report->resident_tokens}};
}

void compare_rows(const std::string& file) {
  const auto rows = shared_file("golden/replay/" + file);
  const auto trace = shared_file("traces/conversation_trace.jsonl");
  if (rows.empty() || trace.empty()) return;
  std::ifstream lines(rows);
  std::size_t compared = 0;
  for (std::string line; std::getline(lines, line); ++compared) {
    const auto recorded = nlohmann::json::parse(line);
#if !defined(NDEBUG)
    if (compared % 5 != 0) continue;  // slow builds look at every fifth row
#endif
    CHECK(replayed(recorded, trace.string(), compared == 0) == recorded);
  }
  CHECK(compared > 0);
}

}  // namespace

TEST_CASE("replays of the conversation trace at page 16 agree with SGLang's RadixCache digit for digit") {
  compare_rows("conversation_page16.jsonl");
}

TEST_CASE("replays of its first 3,000 requests at page 1 and 64 agree too") {
  compare_rows("conversation_first3000_page1_64.jsonl");
}

TEST_CASE("recorded operations of SGLang's RadixCache agree, every return value, size, clock and tree") {
  const auto folder = shared_file("golden/sglang");
  if (folder.empty()) return;
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const auto verdict = verify::verify_recording(entry.path().string(), plugins());
    REQUIRE_MESSAGE(verdict, (verdict ? "" : verdict.error().text));
    CHECK_MESSAGE(verdict->difference.empty(), verdict->difference);
    CHECK(verdict->operations > 100);
    CHECK(verdict->trees > 0);
    ++files;
  }
  CHECK(files > 0);
}
