/// Retention and late items, from a trace or a workload to the engine.
#include <doctest/doctest.h>
#include <replay/replay.h>
#include <support/engines.h>
#include <support/folder.h>
#include <workload/formats/native_trace.h>
#include <workload/generator.h>
#include <workload/trace_formats.h>
#include <workload/trace_stat.h>

#include <map>
#include <utility>
#include <vector>

namespace {

using namespace canopy;
using namespace canopy::test;
using namespace canopy::workload;

std::string line_of(std::uint64_t time_ms, const std::string& tenant, Token first, const std::string& rest = {}) {
  TraceRecord record;
  record.time_ms = time_ms;
  record.space = tenant;
  record.tokens = tokens(first, 17);
  std::string line = native_line(record);
  line.insert(line.size() - 2, rest);
  return line;
}

Result<TraceRecord> first_of(const std::string& lines, const std::string& format = "canopy") {
  const test::Folder folder;
  auto reader = open_records(format + ":" + folder.file("t", lines), {});
  if (!reader) return reader.error();
  TraceRecord record;
  auto got = (*reader)->next(record);
  if (!got) return got.error();
  return record;
}

std::string error_of(const std::string& rest) {
  const auto record = first_of(R"({"time_ms": 0, "tokens": [1], )" + rest + "}\n");
  REQUIRE(!record);
  return record.error().text.substr(record.error().text.find("/t:") + 2);
}

Result<std::unique_ptr<RequestSource>> workload_of(const std::string& text) {
  const auto document = parse_yaml(text, "w.yaml");
  REQUIRE(document);
  return make_generator(*document);
}

constexpr const char* kEngine = R"(
page_size: 4
index: radix
groups: { full: { reach: path, capacity: 64, allocator: free_list, eviction: lru } }
tenants: { a: { pins: 16 }, b: { weight: 1000 } }
)";

/// A prompt of `a`, kept for `rest`, a flood of `b`, and after `again_ms` the prompt once more. Returns its hit tokens.
std::uint32_t found_again(replay::Mode mode, const std::string& rest, std::uint64_t again_ms) {
  std::string lines = line_of(1'000, "a", 1, rest);
  for (Token i = 0; i < 10; ++i) lines += line_of(2'000 + 100 * i, "b", 1'000 * (i + 1));
  for (Token i = 0; i < 10; ++i) lines += line_of(again_ms - 1'000 + 50 * i, "b", 1'000 * (i + 20));
  lines += line_of(again_ms, "a", 1);
  const test::Folder folder;
  auto source = open_trace(folder.file("t", lines));
  REQUIRE(source);
  const auto engine = engine_of(kEngine);
  replay::Options options;
  options.mode = mode;
  options.abort_permille = 0;
  std::uint32_t last = 0;
  options.each = [&](const ClientRequest&, std::uint32_t matched) { last = matched; };
  const auto report = replay::run(*engine, **source, options, {});
  REQUIRE(report);
  CHECK(report->violations == 0);
  return last;
}

}  // namespace

TEST_CASE("retention: a line of a trace has it, and it is written as it was read") {
  const std::string line =
      R"({"time_ms": 7, "retention": [{"tokens": 8, "seconds": 0.5}, {"priority": -3, "seconds": 300, "tokens": 4}], "tokens": [1, 2]})";
  const auto record = first_of(line + "\n");
  REQUIRE_MESSAGE(record, (record ? "" : record.error().text));
  REQUIRE(record->retention.size() == 2);
  CHECK(record->retention[0].tokens == 8);
  CHECK(record->retention[0].us == 500'000);
  CHECK(record->retention[0].priority == 0);
  CHECK(record->retention[1].us == 300'000'000);
  CHECK(record->retention[1].priority == -3);
  const std::string written = native_line(*record);
  CHECK(
      written ==
      R"({"time_ms": 7, "retention": [{"tokens": 8, "seconds": 0.5}, {"tokens": 4, "seconds": 300, "priority": -3}], "tokens": [1, 2]})"
      "\n");
  const auto again = first_of(written);
  REQUIRE(again);
  CHECK(native_line(*again) == written);
  const auto tokens = first_of(R"({"prompt_token_ids": [1], "retention": [{"tokens": 1, "seconds": 2}]})", "tokens");
  REQUIRE(tokens);
  REQUIRE(tokens->retention.size() == 1);
  CHECK(tokens->retention[0].us == 2'000'000);
  const auto none = first_of(R"({"time_ms": 7, "retention": [], "tokens": [1]})");
  REQUIRE(none);
  CHECK(none->retention.empty());
  CHECK(native_line(*none).find("retention") == std::string::npos);
}

TEST_CASE("retention: one that is none is an error with its place") {
  for (const auto& [rest, wanted] : std::vector<std::pair<std::string, std::string>>{
           {R"("retention": 5)", ":1:31: 'retention' is 5; expected a list of objects"},
           {R"("retention": 0)", ":1:31: 'retention' is 0; expected a list of objects"},
           {R"("retention": {"tokens": 1})", ":1:31: 'retention' is an object; expected a list of objects"},
           {R"("retention": [5])", ":1:31: 'retention' has 5; expected objects"},
           {R"("retention": [null])", ":1:31: 'retention' has null; expected objects"},
           {R"("retention": [[]])", ":1:31: 'retention' has a list; expected objects"},
           {R"("retention": [{"tokens": 1}])", ":1:31: 'retention[].seconds' is missing in item 1"},
           {R"("retention": [{"tokens": 1, "seconds": 2}, {"seconds": 2}])",
            ":1:31: 'retention[].tokens' is missing in item 2"},
           {R"("retention": [{"tokens": 1, "secnds": 2}])",
            ":1:59: 'secnds' is not a key of an item of 'retention'; did you mean 'seconds'?"},
           {R"("retention": [{"tokens": -1, "seconds": 2}])",
            ":1:46: 'retention[].tokens' is -1; expected a whole number of tokens from 0 to"},
           {R"("retention": [{"tokens": 1, "tokens": 1}])", ":1:59: 'retention[].tokens' is there twice"},
           {R"("retention": [{"tokens": 1, "seconds": {}}])", ":1:59: 'retention[].seconds' is an object"},
           {R"("retention": [], "retention": [])", ":1:48: 'retention' is there twice"},
           {R"("retention[]": {"tokens": 1})", ":1:31: 'retention[]' is not a key of this format"},
           {R"("seconds": 1)", ":1:31: 'seconds' is not a key of this format"}}) {
    const std::string error = error_of(rest);
    CHECK_MESSAGE(error.starts_with(wanted), error);
  }
}

TEST_CASE("retention: a replay keeps a prefix through a flood until the trace's time is over, without tiers") {
  for (const auto mode : {replay::Mode::serial, replay::Mode::timed}) {
    CAPTURE(static_cast<int>(mode));
    const std::string minute = R"(, "retention": [{"tokens": 16, "seconds": 60}])";
    CHECK(found_again(mode, "", 30'000) == 0);
    CHECK(found_again(mode, minute, 30'000) == 16);
    CHECK(found_again(mode, minute, 90'000) == 0);
  }
}

TEST_CASE("retention: a trace's facts count it") {
  TraceStat stat(1);
  TraceRecord record;
  record.tokens = tokens(1, 10);
  stat.add(record);
  record.retention = {{.tokens = 4, .us = 5'000}, {.tokens = 20, .us = 1'000}};
  stat.add(record);
  const TraceFacts facts = stat.facts();
  CHECK(facts.retained_requests == 1);
  CHECK(facts.retained_tokens == 10);
  CHECK(facts.longest_retention_ms == 5);
}

TEST_CASE("a workload's item has a retention, and begins at its time") {
  constexpr const char* kMix = R"(
seed: 3
requests: 4000
arrivals_per_second: 20
mix:
  - chat: { tenants: 1, system_tokens: 10 }
    namespace: small
  - few_shot: { tasks: 1000, example_tokens: 1 }
    namespace: flood
    retention: { tokens: 8, seconds: 3, priority: 2 }
)";
  const auto late = workload_of(std::string(kMix) + "    from_second: 100\n"), all = workload_of(kMix);
  REQUIRE_MESSAGE(late, (late ? "" : late.error().text));
  REQUIRE(all);
  std::vector<std::pair<std::uint64_t, std::vector<Token>>> small;
  std::uint64_t flood = 0, first_flood = 0;
  ClientRequest request;
  while (*(*late)->next(request)) {
    if (request.space == "small") {
      CHECK(request.retention.empty());
      small.emplace_back(request.arrival_ms, request.prompt);
      continue;
    }
    CHECK(request.space == "flood");
    REQUIRE(request.retention.size() == 1);
    CHECK(request.retention[0].us == 3'000'000);
    if (flood++ == 0) first_flood = request.arrival_ms;
    CHECK(request.arrival_ms >= 100'000);
  }
  CHECK(first_flood < 102'000);
  CHECK(flood > 1'000);
  // The others have the same requests at the same times as if it had begun at once.
  std::size_t same = 0;
  while (*(*all)->next(request))
    if (request.space == "small") {
      REQUIRE(same < small.size());
      CHECK(small[same] == std::pair(request.arrival_ms, request.prompt));
      ++same;
    }
  CHECK(same > 1'500);
}

TEST_CASE("a workload whose items all begin late begins then") {
  const auto source = workload_of("requests: 2\nmix:\n  - thrash: {}\n    from_second: 1000000000\n");
  REQUIRE(source);
  ClientRequest request;
  REQUIRE(*(*source)->next(request));
  CHECK(request.arrival_ms == 1'000'000'000'000);
  const auto wrong = workload_of("mix:\n  - thrash: {}\n    retention: { tokens: 5 }\n");
  REQUIRE(!wrong);
  CHECK_MESSAGE(wrong.error().text.find("w.yaml:3:16: retention: 'seconds' is missing") != std::string::npos,
                wrong.error().text);
}
