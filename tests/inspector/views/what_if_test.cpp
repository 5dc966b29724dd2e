/// The what-if page: what each of its states shows, and what is computed from the figures.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <support/folder.h>
#include <views/what_if_lines.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "ink.h"
#include "show.h"

using namespace canopy;
using namespace canopy::inspector;
using namespace canopy::test;
using namespace std::chrono_literals;

namespace {

ComparedRow row(const char* policy, std::uint64_t capacity, std::uint64_t page, double rate) {
  return {policy, capacity, page, static_cast<std::uint64_t>(rate * 1000), rate, {}};
}

const std::vector<ComparedRow> kRows = {
    row("lru", 3'000'000, 16, 0.25),    row("lru", 1'000'000, 16, 0.125),     row("hazard", 3'000'000, 16, 0.5),
    row("hazard", 1'000'000, 16, 0.25), row("optimum", 3'000'000, 16, 0.625), row("optimum", 1'000'000, 16, 0.5),
    row("lru", 3'000'000, 64, 0.125),   row("hazard", 3'000'000, 64, 0.25),   row("optimum", 3'000'000, 64, 0.5)};

/// A `canopy` that does what these lines say, and the inspector that would start it.
class Bench {
 public:
  explicit Bench(const std::string& lines, float width = 1600, float height = 900) : stage_(width, height) {
    const std::string program = folder_.file("canopy", "#!/bin/sh\n" + lines);
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    stage_.script.say(TextKind::config, 0, "page_size: 16");
    stage_.script.say(TextKind::policy, 0, "lru");
    stage_.script.add(0, 10);
    stage_.open();
    Sources sources;
    sources.trace = "chat.jsonl", sources.canopy = program;
    stage_.app->offer(std::move(sources));
    stage_.screen.key(*stage_.app, 'W');
    stage_.draw();
  }
  Bench(const Bench&) = delete;

  void press(const char* words) {
    const Ink ink;
    const Ink::Line* const line = ink.find(words);
    REQUIRE_MESSAGE(line, words);
    const ImVec2 from = line->from, to = line->to;
    stage_.screen.click(*stage_.app, {(from.x + to.x) / 2, (from.y + to.y) / 2});
    stage_.draw();
  }
  WhatIf::State state() const { return stage_.app->what_if().state(); }
  void wait_until(const std::function<bool()>& true_now) {
    for (int i = 0; i < 1000 && !true_now(); ++i) {
      std::this_thread::sleep_for(10ms);
      stage_.app->pump(1ms);
    }
    stage_.draw();
  }
  Stage& stage() { return stage_; }

 private:
  Stage stage_;
  test::Folder folder_;
};

std::string writes_figures() {
  std::string rows;
  for (const ComparedRow& each : kRows)
    rows += fmt::format(R"({}{{"policy": "{}", "capacity_tokens": {}, "page_size": {}, "hit_tokens": {}, )"
                        R"("hit_rate": {}, "optimum_share": null}})",
                        rows.empty() ? "" : ", ", each.policy, *each.capacity, each.page_size, each.hit_tokens,
                        each.hit_rate);
  return "for a in \"$@\"; do case $a in --json=*) out=${a#*=};; esac; done\ncat > \"$out\" <<END\n{\"source\": "
         "\"chat\", "
         "\"requests\": 9, \"prompt_tokens\": 1000, \"rows\": [" +
         rows + "]}\nEND\n";
}

}  // namespace

TEST_CASE("rows become lines by policy or by page size, sorted by the limit") {
  CHECK(policies_of(kRows) == std::vector<std::string>{"lru", "hazard", "optimum"});
  CHECK(page_sizes_of(kRows) == std::vector<std::uint64_t>{16, 64});
  const WhatIfLines by_policy = lines_by_policy(kRows, 16);
  REQUIRE(by_policy.lines.size() == 3);
  CHECK(by_policy.capacities == std::vector<std::uint64_t>{1'000'000, 3'000'000});
  CHECK(by_policy.lines[1].points[0].hit_rate == 0.25);
  CHECK(by_policy.lines[2].ceiling);
  CHECK(lines_by_policy(kRows, 64).lines[1].colour == by_policy.lines[1].colour);
  const WhatIfLines by_page = lines_by_page_size(kRows, "hazard");
  REQUIRE(by_page.lines.size() == 2);
  CHECK(by_page.lines[1].name == "pages of 64");
  CHECK(by_page.lines[1].points.size() == 1);
}

TEST_CASE("the reading names the best line at the limit that is nearest, what it gains and what is left") {
  const WhatIfLines lines = lines_by_policy(kRows, 16);
  CHECK(
      reading_of(lines, 2'500'000, "lru") ==
      "At 3,000,000 tokens hazard reuses most, 50.00 % of the prompts, 25.00 points more than lru; that is 80.00 % of "
      "the optimum.");
  CHECK(reading_of(lines, 1, "hazard") ==
        "At 1,000,000 tokens hazard reuses most, 25.00 % of the prompts, 12.50 points more than lru; that is 50.00 % "
        "of the optimum.");
  CHECK(reading_of({}, 1, "lru").empty());
}

TEST_CASE("the what-if page: idle, it says what it does and proposes the question") {
  Bench bench("exit 0\n");
  const Ink ink;
  CHECK(ink.has("WHAT IF"));
  CHECK(ink.has("chat.jsonl"));
  CHECK(ink.has("lru,hazard,optimum"));
  CHECK(ink.has("Name a trace above"));
  CHECK(ink.overprinted() == std::vector<std::string>{});
}

TEST_CASE("the what-if page: running, it shows progress and can be cancelled") {
  Bench bench("echo 'compare: 40 %, 3 requests, 2 s passed' >&2\nexec sleep 100\n");
  bench.press("compute");
  REQUIRE(bench.state() == WhatIf::State::running);
  bench.wait_until([&] { return bench.stage().app->what_if().share() > 0; });
  CHECK(Ink().has("compare: 40 %, 3 requests, 2 s passed"));
  bench.press("cancel");
  CHECK(bench.state() == WhatIf::State::idle);
}

TEST_CASE("the what-if page: failed, it shows the last sentence, and the panels are as they were") {
  Bench bench("echo \"--policies: no policy is called 'lruu'\" >&2\nexit 2\n");
  bench.press("compute");
  bench.wait_until([&] { return bench.state() != WhatIf::State::running; });
  CHECK(bench.state() == WhatIf::State::failed);
  CHECK(Ink().has("--policies: no policy is called 'lruu'"));
  bench.stage().screen.key(*bench.stage().app, 'W');
  bench.stage().draw();
  CHECK(Ink().has("NEXT TO EVICT"));
}

TEST_CASE("the what-if page: done, it has a chart with names, a table, and lines of either kind") {
  for (const auto& [width, height] : {std::pair(960.F, 600.F), {1600.F, 900.F}, {2560.F, 1080.F}}) {
    CAPTURE(width);
    Bench bench(writes_figures(), width, height);
    bench.press("compute");
    bench.wait_until([&] { return bench.state() != WhatIf::State::running; });
    REQUIRE_MESSAGE(bench.state() == WhatIf::State::done, bench.stage().app->what_if().sentence());
    {
      const Ink ink;
      for (const char* words :
           {"chat: 9 requests, 1,000 tokens of prompts", "hazard", "optimum", "62.50 %", "3,000,000", "60 %", "3.0 M"})
        CHECK_MESSAGE(ink.has(words), words);
      CHECK(ink.overprinted() == std::vector<std::string>{});
      CHECK(ink.cut() == std::vector<std::string>{});
    }
    bench.press("a page size");
    const Ink ink;
    CHECK(ink.has("pages of 64"));
    CHECK(ink.overprinted() == std::vector<std::string>{});
  }
}
