/// A recording over its time: how it opens, what SIZES and the time bar show of it, and where a click goes.
#include <doctest/doctest.h>
#include <views/sizes_panel.h>

#include <support/sanitizers.h>
#include <chrono>
#include <cstdio>

#include "ink.h"
#include "recorded.h"
#include "show.h"

using namespace canopy;
using namespace canopy::inspector;
using namespace canopy::test;
using namespace std::chrono_literals;

namespace {

/// Many nodes, one an operation, and a request for each hundredth.
std::vector<Event> long_story(FeedScript& script, std::size_t nodes) {
  std::vector<Event> events;
  std::vector<std::uint64_t> middle;
  for (std::size_t i = 0; i < nodes; ++i) {
    if (middle.size() < 100) middle.push_back(script.add(0, 2));
    else script.add(middle[i % 100], 1, 0, 0, i);
    if (i % 100 == 0) script.begin_request(i + 1, 100, 16);
    if (i % 100 == 9) script.end_request(i - 8);
    const auto some = script.commit();
    events.insert(events.end(), some.begin(), some.end());
  }
  return events;
}

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

}  // namespace

TEST_CASE("a long recording opens with frames between in at most twice the time it takes without") {
  const std::size_t commits = kSanitized ? 20'000 : 200'000;
  FeedScript script(8'000'000);
  const RecordedFile file(script, long_story(script, commits), "long");
  Headless screen;
  const auto open = [&](bool frames, bool& loaded_with_bar) {
    const double began = cpu_seconds();
    auto recording = Recording::begin(file.path());
    REQUIRE(recording);
    App app(link_to(std::move(*recording), file.path()), Settings{});
    while (!app.pump(frames ? 20ms : 1000ms))
      if (frames) {
        screen.frame(app);
        CHECK(app.loading());
        const Ink ink;
        loaded_with_bar |= ink.has("stop here") && ink.has(kSanitized ? "of 20,000" : "of 200,000");
        CHECK_FALSE(ink.has("NEXT TO EVICT"));  // nothing that costs more the more there is
      }
    const double took = cpu_seconds() - began;
    screen.frame(app);
    CHECK(app.time().at == commits);
    CHECK(app.mirror().drift() == 0);
    CHECK(Ink().has("NEXT TO EVICT"));
    return took;
  };
  bool bar = false, none = false;
  const double without = open(false, none), with = open(true, bar);
  std::printf("%zu commits: %.2f s without a window, %.2f s with frames between\n", commits, without, with);
  CHECK(bar);
  CHECK(with < 2 * without + 0.1);
}

TEST_CASE("reading a recording can be stopped, by click and by Esc, and goes on to the end") {
  for (const bool by_key : {false, true}) {
    FeedScript script(8'000'000);
    const RecordedFile file(script, long_story(script, 60'000), "stopped");
    auto recording = Recording::begin(file.path());
    REQUIRE(recording);
    App app(link_to(std::move(*recording), file.path()), Settings{});
    Headless screen;
    while (app.time().at == 0) REQUIRE_FALSE(app.pump(1ms));
    screen.frame(app);
    screen.frame(app);
    ImVec2 at;
    REQUIRE(app.loading_panel().middle_of_stop(at));
    if (by_key) screen.press(app, ImGuiKey_Escape);
    else screen.click(app, at);
    CHECK(app.pump(1ms));
    const std::uint64_t stopped = app.time().at;
    CHECK(stopped > 0);
    CHECK(stopped < 60'000);
    screen.frame(app);
    CHECK(Ink().has("NEXT TO EVICT"));
    CHECK(app.mirror().drift() == 0);
    screen.press(app, ImGuiKey_End);
    while (!app.pump(1000ms)) continue;
    CHECK(app.time().at == 60'000);
  }
}

TEST_CASE("the whole recording stays in sight, and the same place of a chart is always the same moment") {
  FeedScript script(100'000);
  const RecordedFile file(script, long_story(script, 3'000), "whole");
  auto recording = Recording::open(file.path());
  REQUIRE(recording);
  App app(link_to(std::move(*recording), file.path()), Settings{});
  Headless screen;
  const auto turn = [&] {
    while (!app.pump(1000ms)) continue;
    screen.frame(app);
    screen.frame(app);
  };
  turn();
  const SizesPanel& panel = app.panel<SizesPanel>();
  const auto place = [&](float share) {
    return ImVec2{panel.stack().from.x + (panel.stack().to.x - panel.stack().from.x) * share,
                  (panel.stack().from.y + panel.stack().to.y) / 2};
  };
  const std::size_t columns = panel.columns().size();
  const std::uint64_t last = panel.columns().back().commit;
  for (int again = 0; again < 3; ++again) {
    screen.click(app, place(0.25F));
    turn();
    CHECK(app.time().at > 700);
    CHECK(app.time().at < 800);
    CHECK(panel.columns().size() == columns);
    CHECK(panel.columns().back().commit == last);
  }
  const std::uint64_t there = app.time().at;
  screen.click(app, place(0.75F));
  turn();
  CHECK(app.time().at > 2200);
  screen.click(app, place(0.25F));
  turn();
  CHECK(app.time().at == there);
}

TEST_CASE("a place in a chart over time is a moment of the engine's clock, and back") {
  std::vector<Sample> samples(4);
  const std::uint64_t us[] = {0, 1'000'000, 9'000'000, 10'000'000}, commits[] = {1, 101, 111, 211};
  for (std::size_t i = 0; i < 4; ++i) samples[i].us = us[i], samples[i].commit = commits[i];
  const Overview overview(samples);
  CHECK(overview.by_clock());
  CHECK(overview.share_of(101) == doctest::Approx(0.1));
  CHECK(overview.share_of(111) == doctest::Approx(0.9));
  CHECK(overview.share_of(106) == doctest::Approx(0.5));
  CHECK(overview.share_of(1) == 0);
  CHECK(overview.share_of(999) == 1);
  for (std::uint64_t commit = 1; commit <= 211; ++commit)
    CHECK(overview.commit_at(overview.share_of(commit)) == commit);
  // An idle stretch is as wide as a busy one.
  const auto columns = overview.columns(0, 4);
  REQUIRE(columns.size() == 4);
  CHECK(columns[0].commit == 101);
  CHECK(columns[1].commit == 101);
  CHECK(columns[2].commit == 101);
  CHECK(columns[3].commit == 211);
}

TEST_CASE("sizes are on one scale up to the highest limit, and one resize does not flatten the evictions") {
  Stage shown(1600, 900, 1'000);
  shown.script.add(0, 100);
  shown.open();
  for (int i = 0; i < 50; ++i) shown.turn();
  shown.script.pool(4'000, 6'000);
  for (int i = 0; i < 50; ++i) shown.turn();
  shown.script.pool(2'000, 2'000);
  for (int i = 0; i < 50; ++i) shown.turn();
  const SizesPanel& panel = shown.app->panel<SizesPanel>();
  const auto& columns = panel.columns();
  const float all = panel.stack().to.y - panel.stack().from.y;
  CHECK(sizes_top(columns) == 6'000);
  CHECK(panel.height_of(columns.front().all()) == doctest::Approx(all / 6));
  CHECK(panel.height_of(columns[columns.size() / 2].all()) == doctest::Approx(all * 4 / 6));
  CHECK(panel.height_of(columns.back().all()) == doctest::Approx(all * 2 / 6));
  const Ink ink;
  CHECK(ink.find("96.0 k") == nullptr);  // round figures
  CHECK((ink.has("80.0 k") || ink.has("50.0 k")));
  CHECK(ink.overprinted() == std::vector<std::string>{});

  std::vector<OverviewColumn> bars(100);
  for (std::size_t i = 0; i < bars.size(); ++i) bars[i].evicted = 10 + static_cast<double>(i % 5);
  bars[50].evicted = 10'000;
  CHECK(usual_most(bars) < 20);
  bars[50].evicted = 15;
  CHECK(usual_most(bars) == 15);
}
