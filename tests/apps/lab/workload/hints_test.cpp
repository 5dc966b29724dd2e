/// Hints of clients, from a trace or a workload to the policies.
#include <canopy/eviction_strategy.h>
#include <doctest/doctest.h>
#include <replay/replay.h>
#include <support/engines.h>
#include <workload/generator.h>
#include <workload/hints.h>
#include <workload/mooncake_line.h>

#include <utility>
#include <vector>

namespace {

using namespace canopy;
using namespace canopy::test;
using namespace canopy::workload;

std::string line_with(const std::string& hints) {
  return R"({"timestamp": 0, "input_length": 700, "output_length": 5, "hash_ids": [1, 2])" +
         (hints.empty() ? "" : R"(, "hints": )" + hints) + "}";
}

struct HintsSeen final : EvictionStrategy {
  std::vector<std::uint64_t> arrivals, ends;
  Rank rank(const NodeFacts& node) override { return {0, node.last_access}; }
  void arrived(const RequestFacts& request) override { arrivals.push_back(request.hints); }
  void ended(const RequestFacts& request, Path&) override { ends.push_back(request.hints); }
};

Result<std::unique_ptr<RequestSource>> workload_with(const std::string& hints) {
  const auto document = parse_yaml("requests: 3\nmix:\n  - thrash: {}\n    hints: " + hints + "\n", "w.yaml");
  REQUIRE(document);
  return make_generator(*document);
}

}  // namespace

TEST_CASE("hints: named bits do not overlap, and the class is read back") {
  CHECK((hint::kSessionEnded & hint::kToolCallPending) == 0);
  for (std::uint32_t number = 0; number <= hint::kMostClass; ++number) {
    CHECK(hint::class_in(hint::of_class(number) | hint::kSessionEnded | hint::kToolCallPending) == number);
    CHECK((hint::of_class(number) & (hint::kSessionEnded | hint::kToolCallPending)) == 0);
  }
  CHECK(hint_named("session_ended") == hint::kSessionEnded);
  CHECK(hint_named("tool_call_pending") == hint::kToolCallPending);
  CHECK(hint_named("class_7") == hint::of_class(7));
  CHECK(!hint_named("class_0"));
  CHECK(!hint_named("class_8"));
}

TEST_CASE("hints: a line of a trace has none, a number, or a list of names") {
  MooncakeLine line;
  for (const auto& [hints, bits] : {std::pair<std::string, std::uint64_t>{"", 0},
                                    {"0", 0},
                                    {"18446744073709551615", ~std::uint64_t{0}},
                                    {"[]", 0},
                                    {R"(["session_ended"])", hint::kSessionEnded},
                                    {R"(["tool_call_pending", "class_3"])", hint::kToolCallPending | hint::of_class(3)},
                                    {"", 0}}) {
    CAPTURE(hints);
    const auto problem = line.read(line_with(hints));
    CHECK_MESSAGE(!problem, (problem ? problem->text : ""));
    CHECK(line.hints == bits);
  }
}

TEST_CASE("hints: an unknown hint is an error with its place") {
  MooncakeLine line;
  for (const auto& [hints, part] :
       {std::pair<std::string, std::string>{"-1", "'hints' is -1; expected a whole number, or a list of names"},
        {R"("session_ended")", "'hints' is \"session_ended\"; expected"},
        {"[1]", "'hints' has 1; expected"},
        {"[[]]", "'hints' has a list"},
        {"null", "'hints' is null"},
        {"{}", "'hints' is an object"},
        {"1.5", "'hints' is 1.5"},
        {"18446744073709551616", "'hints' is 1844"},
        {R"(["session_end"])",
         "'hints' has \"session_end\"; expected one of session_ended, tool_call_pending, class_1"},
        {R"(["session_end"])", "did you mean 'session_ended'?"},
        {R"([], "hints": 1)", "'hints' is there twice"}}) {
    CAPTURE(hints);
    const auto problem = line.read(line_with(hints));
    REQUIRE(problem);
    CHECK_MESSAGE(problem->text.find(part) != std::string::npos, problem->text);
    CHECK(problem->column > 0);
  }
}

TEST_CASE("hints: those of a workload's item reach policies with each of its requests, in both modes") {
  for (const auto mode : {replay::Mode::serial, replay::Mode::timed}) {
    auto source = workload_with("[class_2, tool_call_pending]");
    REQUIRE(source);
    const auto engine = engine_of(kSmall, {"groups.full.capacity=8000", "store=none"});
    const auto policy = std::make_shared<HintsSeen>();
    REQUIRE(engine->use_policy(0, policy));
    replay::Options options;
    options.mode = mode, options.abort_permille = 0;
    REQUIRE(replay::run(*engine, **source, options, {}));
    const std::vector<std::uint64_t> wanted(3, hint::of_class(2) | hint::kToolCallPending);
    CHECK(policy->arrivals == wanted);
    CHECK(policy->ends == wanted);
  }
}

TEST_CASE("hints: unknown ones of a workload are errors with their place") {
  const auto one = workload_with("class_9"), map = workload_with("{ a: 1 }");
  REQUIRE(!one);
  CHECK(one.error().text.starts_with("w.yaml:4:12: 'hints' has 'class_9'; expected one of "));
  REQUIRE(!map);
  CHECK(map.error().text.find("'hints': expected a name or a list of names") != std::string::npos);
  CHECK(workload_with("session_ended"));
}
