/// A recording over its time: how it opens, what the timeline shows of it, and where clicks and drags go.
#include <conformance/model/effort.h>
#include <doctest/doctest.h>
#include <shell/address.h>
#include <shell/mouse_queue.h>
#include <views/timeline_panel.h>

#include <support/sanitizers.h>
#include <chrono>
#include <cmath>
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
        CHECK_FALSE(ink.has("REQUESTS"));  // nothing that costs more the more there is
      }
    const double took = cpu_seconds() - began;
    screen.frame(app);
    CHECK(app.time().at == commits);
    CHECK(app.mirror().drift() == 0);
    CHECK(Ink().has("REQUESTS"));
    return took;
  };
  bool bar = false, none = false;
  const double without = open(false, none), with = open(true, bar);
  std::printf("%zu commits: %.2f s without a window, %.2f s with frames between\n", commits, without, with);
  CHECK(bar);
  CHECK(with < 2 * without + 0.1);
}

TEST_CASE("reading a recording can be stopped, by click and by Esc, and goes on to the end") {
  const auto commits = std::max<std::uint64_t>(with_effort(60'000), 12'000);
  for (const bool by_key : {false, true}) {
    FeedScript script(8'000'000);
    const RecordedFile file(script, long_story(script, commits), "stopped");
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
    CHECK(stopped < commits);
    screen.frame(app);
    CHECK(Ink().has("REQUESTS"));
    CHECK(app.mirror().drift() == 0);
    screen.press(app, ImGuiKey_End);
    while (!app.pump(1000ms)) continue;
    CHECK(app.time().at == commits);
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
  const TimelinePanel& panel = app.panel<TimelinePanel>();
  const auto place = [&](float share) {
    return ImVec2{panel.scale().left + (panel.scale().right - panel.scale().left) * share,
                  (panel.pool_track().top + panel.pool_track().bottom) / 2};
  };
  const std::size_t columns = panel.columns().size();
  const std::uint64_t last = panel.columns().back().commits.last;
  for (int again = 0; again < 3; ++again) {
    screen.click(app, place(0.25F));
    turn();
    for (int i = 0; i < 30; ++i) screen.frame(app);  // no double click
    CHECK(app.time().at > 700);
    CHECK(app.time().at < 800);
    CHECK(panel.columns().size() == columns);
    CHECK(panel.columns().back().commits.last == last);
  }
  const std::uint64_t there = app.time().at;
  screen.click(app, place(0.75F));
  turn();
  for (int i = 0; i < 30; ++i) screen.frame(app);
  CHECK(app.time().at > 2200);
  screen.click(app, place(0.25F));
  turn();
  CHECK(app.time().at == there);
}

namespace {

/// A history whose commits end at these times.
History history_at(const std::vector<std::uint64_t>& us) {
  FeedScript script;
  Mirror mirror(script.header());
  History history;
  for (const std::uint64_t at : us) {
    std::vector<Event> events = script.commit();
    auto end = std::bit_cast<event::Commit>(events.back());
    end.us = at;
    events.back() = std::bit_cast<Event>(end);
    mirror.take(events, history.watch(mirror));
  }
  return history;
}

}  // namespace

TEST_CASE("a place on the time axis is a moment of the engine's clock, and back") {
  std::vector<std::uint64_t> us;
  for (std::uint64_t i = 0; i < 100; ++i) us.push_back(i * 10'000);
  us.push_back(9'000'000);  // an idle time
  for (std::uint64_t i = 1; i <= 100; ++i) us.push_back(9'000'000 + i * 10'000);
  const History history = history_at(us);
  const TimeAxis axis(history);
  CHECK(axis.by_clock());
  CHECK(axis.first() == 10'000);  // the first operation: the commit before it is the keyframe
  CHECK(axis.last() == 10'000'000);
  CHECK(axis.value_of(std::uint64_t{1}) == axis.first());
  for (std::uint64_t commit = 3; commit <= us.size(); ++commit) CHECK(axis.commit_at(axis.value_of(commit)) == commit);
  CHECK(axis.value_of(std::uint64_t{999}) == axis.last());
  // An idle time is as wide as a busy one, and stays alone.
  const auto columns = columns_of(history, axis, axis.first(), axis.last(), 10);
  const auto idle = std::find_if(columns.begin(), columns.end(), [](const auto& c) { return c.to - c.from > 5e6; });
  REQUIRE(idle != columns.end());
  CHECK(idle->commits.commits() == 1);
  CHECK(idle->idle_to - idle->idle_from == doctest::Approx(8'010'000 - (axis.last() - axis.first()) / 10));
  CHECK(columns.back().commits.last == us.size());
  std::uint64_t next = 1;
  for (const TimeColumn& column : columns) {
    CHECK(column.commits.first == next);
    next = column.commits.last + 1;
  }
  // Without a clock, commits are the axis.
  const History still = history_at(std::vector<std::uint64_t>(50, 7));
  const TimeAxis commits(still);
  CHECK_FALSE(commits.by_clock());
  for (std::uint64_t commit = 1; commit <= 50; ++commit) CHECK(commits.commit_at(commits.value_of(commit)) == commit);
}

TEST_CASE("the pool is on one scale up to the highest limit, and one resize does not flatten the evictions") {
  Stage shown(1600, 900, 1'000);
  shown.script.add(0, 100);
  shown.open();
  for (int i = 0; i < 50; ++i) shown.turn();
  shown.script.pool(4'000, 6'000);
  for (int i = 0; i < 50; ++i) shown.turn(Operation::resize);
  CHECK(pool_top(shown.app->time().history, 0) == 6'000);
  CHECK(shown.app->time().history.marks().size() == 1);
  CHECK(Ink().has("limit"));
  CHECK(Ink().overprinted() == std::vector<std::string>{});

  std::vector<double> bars(100);
  for (std::size_t i = 0; i < bars.size(); ++i) bars[i] = 10 + static_cast<double>(i % 5);
  bars[50] = 10'000;
  CHECK(usual_most(bars) < 20);
  bars[50] = 15;
  CHECK(usual_most(bars) == 15);
}

TEST_CASE("a drag selects a range of which every panel shows figures, and Esc clears it") {
  FeedScript script(100'000);
  const RecordedFile file(script, long_story(script, 3'000), "range");
  auto recording = Recording::open(file.path());
  REQUIRE(recording);
  App app(link_to(std::move(*recording), file.path()), Settings{});
  Headless screen;
  const auto turn = [&] {
    while (!app.pump(1000ms)) continue;
    for (int i = 0; i < 3; ++i) screen.frame(app);
  };
  turn();
  const TimelinePanel& panel = app.panel<TimelinePanel>();
  const auto place = [&](float share) {
    return ImVec2{panel.scale().left + (panel.scale().right - panel.scale().left) * share,
                  (panel.pool_track().top + panel.pool_track().bottom) / 2};
  };
  CHECK(figures_word(FiguresOf::selected, app.scene()) == "whole");
  screen.drag(app, place(0.75F), place(0.25F));
  turn();
  const CommitRange range = app.time().range;
  CHECK(range.first > 700);
  CHECK(range.first < 800);
  CHECK(range.last > 2'200);
  CHECK(range.last < 2'300);
  CHECK(app.time().at == 3'000);  // a drag does not move the playhead
  const std::uint64_t begun = app.scene().figures.range().counts[Count::requests];
  CHECK(begun == 15);
  CHECK(app.scene().figures.whole().counts[Count::requests] == 29);  // the first is in the keyframe
  CHECK(figures_word(FiguresOf::selected, app.scene()) == "range");
  CHECK(Ink().has("15 requests of the range"));
  screen.press(app, ImGuiKey_Escape);
  turn();
  CHECK(app.time().range.empty());
  CHECK(figures_word(FiguresOf::selected, app.scene()) == "whole");
}

TEST_CASE("a press and a move that arrive within one frame begin a drag at the place of the press") {
  Stage shown;
  shown.script.add(0, 100);
  shown.open();
  for (int i = 0; i < 200; ++i) shown.turn();
  const TimelinePanel& panel = shown.app->panel<TimelinePanel>();
  const TimeAxis axis = shown.app->time().axis();
  const float wide = panel.scale().right - panel.scale().left, y = panel.pool_track().top + 5;
  const auto place = [&](float share) { return ImVec2{panel.scale().left + wide * share, y}; };
  MouseQueue mouse;
  const auto frame = [&] {
    const bool more = mouse.pass(ImGui::GetIO());
    shown.screen.frame(*shown.app);
    return more;
  };
  mouse.move(place(0.1F));
  CHECK_FALSE(frame());
  mouse.move(place(0.25F));
  mouse.press(0, true);
  mouse.move(place(0.5F));
  mouse.move(place(0.75F));
  CHECK(frame());
  CHECK(ImGui::GetIO().MousePos.x == std::floor(place(0.25F).x));
  CHECK_FALSE(frame());
  mouse.press(0, false);
  frame();
  const CommitRange range = shown.app->time().range;
  CHECK(range.first == axis.commit_at(panel.scale().value_at(place(0.25F).x)) + 1);
  CHECK(range.last == axis.commit_at(panel.scale().value_at(place(0.75F).x)));
  // A press and a release within one frame are a click.
  mouse.press(0, true);
  mouse.press(0, false);
  CHECK(frame());
  CHECK(ImGui::GetIO().MouseDown[0]);
  CHECK_FALSE(frame());
  CHECK_FALSE(ImGui::GetIO().MouseDown[0]);
}

TEST_CASE("the wheel zooms to single commits, which are read again, and Esc shows the whole time") {
  FeedScript script(8'000'000);
  const RecordedFile file(script, long_story(script, 20'000), "zoom");
  auto recording = Recording::open(file.path());
  REQUIRE(recording);
  App app(link_to(std::move(*recording), file.path()), Settings{});
  Headless screen;
  const auto turn = [&] {
    while (!app.pump(1000ms)) continue;
    for (int i = 0; i < 3; ++i) screen.frame(app);
  };
  turn();
  REQUIRE(app.time().history.stride() > 1);
  const TimelinePanel& panel = app.panel<TimelinePanel>();
  ImGui::GetIO().MousePos = {(panel.scale().left + panel.scale().right) / 2,
                             (panel.pool_track().top + panel.pool_track().bottom) / 2};
  const double under = panel.scale().value_at(ImGui::GetIO().MousePos.x);
  for (int i = 0; i < 28; ++i) {
    ImGui::GetIO().MouseWheel = 1;
    screen.frame(app);
    ImGui::GetIO().MouseWheel = 0;
  }
  turn();
  turn();
  CHECK(panel.scale().value_at(ImGui::GetIO().MousePos.x) == doctest::Approx(under));
  REQUIRE(app.time().detail);
  CHECK(app.time().detail->stride() == 1);
  for (const TimeColumn& column : panel.columns()) CHECK(column.commits.commits() == 1);
  CHECK(panel.columns().size() < 100);
  screen.press(app, ImGuiKey_Escape);
  turn();
  CHECK(app.time().to == 0);
  CHECK(panel.columns().size() > 100);
}

namespace {

/// An engine that is busy, idle and busy; then events are lost, and it is busy again.
struct Interrupted : Stage {
  FeedScript later;
  Interrupted() : later(100'000) {
    script.add(0, 100);
    open();
    begin(script, 1, 40);
    for (int i = 0; i < 400; ++i) script.skip();
    begin(script, 41, 41);
    begin(script, 42, 80);
    link->lap();
    for (int i = 0; i < 1'000; ++i) later.skip();
    later.add(0, 100);
    link->bring(later.commit());
    draw();
    begin(later, 81, 120);
  }
  /// Requests of 160 tokens, of which half are found: one a millisecond.
  void begin(FeedScript& from, std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t id = first; id <= last; ++id) {
      from.begin_request(id, 160, 80);
      link->bring(from.commit(Operation::begin));
      draw(1);
    }
    draw();
  }
  /// The strongest paint of the hit rate at a time, and the last opaque paint of the pool's track.
  int rate_at(double us) const {
    const TimelinePanel& panel = app->panel<TimelinePanel>();
    int strongest = 0;
    for (const ImU32 colour : Ink::paint_at({panel.scale().x_of(us), panel.pool_track().top - em()}))
      if (((colour ^ palette().good) & ~IM_COL32_A_MASK) == 0)
        strongest = std::max(strongest, static_cast<int>(colour >> IM_COL32_A_SHIFT));
    return strongest;
  }
  bool covered_at(double us) const {
    const TimelinePanel& panel = app->panel<TimelinePanel>();
    for (const float y : {panel.pool_track().top - em(), panel.pool_track().top + em() / 2}) {
      const std::vector<ImU32> paint = Ink::paint_at({panel.scale().x_of(us), y});
      const auto cover = std::find(paint.rbegin(), paint.rend(), palette().background);
      const auto known = [](ImU32 colour) {
        return (colour & ~IM_COL32_A_MASK) == (palette().good & ~IM_COL32_A_MASK);
      };
      if (cover == paint.rend() || std::any_of(paint.rbegin(), cover, known)) return false;
    }
    return true;
  }
};

}  // namespace

TEST_CASE("no hit rate is painted over idle time, and lost time is covered in all tracks") {
  Interrupted shown;
  const History& history = shown.app->time().history;
  const TimeAxis axis = shown.app->time().axis();
  CHECK(axis.first() == 2'000);  // the first request; the keyframe came before it
  REQUIRE(history.lost().size() == 1);
  CHECK(history.lost().front().from.us == 481'000);
  CHECK(history.lost().front().until.us == 1'001'000);
  constexpr int kStrong = 200, kFaint = 60;
  CHECK(shown.rate_at(19'500) > kStrong);
  CHECK(shown.rate_at(200'000) > 0);  // the request that ended the idle time
  CHECK(shown.rate_at(200'000) < kFaint);
  CHECK(shown.rate_at(459'500) > kStrong);
  CHECK(shown.rate_at(1'019'500) > kStrong);
  CHECK(shown.covered_at(700'000));
  CHECK_FALSE(shown.covered_at(459'500));
  CHECK_FALSE(shown.covered_at(1'019'500));
}

TEST_CASE("the first damaged commit is marked, and everything after it is dimmed and hatched") {
  Interrupted shown;
  CHECK_FALSE(shown.app->time().history.damaged());
  CHECK_FALSE(Ink().has("damaged here"));
  const auto dimmed_at = [&](double us) {
    const TimelinePanel& panel = shown.app->panel<TimelinePanel>();
    const std::vector<ImU32> paint =
        Ink::paint_at({panel.scale().x_of(us), panel.pool_track().top + ImGui::GetFontSize() / 2});
    return std::find(paint.begin(), paint.end(), with_alpha(palette().background, kDoubted)) != paint.end();
  };
  shown.begin(shown.later, 121, 200);
  shown.later.push(Event{});  // no version has this kind
  shown.begin(shown.later, 201, 400);
  const std::uint64_t commit = shown.app->time().history.damaged().commit;
  CHECK(commit == 1 + 80 + 1 + 40 + 80 + 1);  // keyframe, requests, keyframe, requests
  CHECK(shown.app->time().history.marks().back().at.commit == commit);
  CHECK(Ink().has("damaged here"));
  CHECK_FALSE(dimmed_at(1'050'500));
  CHECK(dimmed_at(1'150'500));
  CHECK(dimmed_at(1'300'500));
}

TEST_CASE("the time axis measures the clock, requests or prompt tokens, as the user wishes, and an address keeps it") {
  Interrupted shown;
  Timeline& time = shown.app->time();
  CHECK(Ink().has("by clock"));
  shown.screen.key(*shown.app, 'x');
  shown.draw();
  CHECK(time.axis_by == AxisBy::requests);
  CHECK(Ink().has("by requests"));
  CHECK(time.axis().first() == 0);
  CHECK(time.axis().last() == 120);
  CHECK(time.axis().value_of(std::uint64_t{42}) == 41);  // the first commit is the keyframe
  CHECK(time.axis().commit_at(41) == 42);
  for (const TimeColumn& column : shown.app->panel<TimelinePanel>().columns()) CHECK_FALSE(column.has_idle());
  CHECK(shown.app->settings().axis == AxisBy::requests);
  CHECK(Settings::parse(shown.app->settings().text()) == shown.app->settings());
  time.from = 40, time.to = 60;
  const std::string address = address_of(*shown.app);
  CHECK(address == "axis=requests&time=40-60");
  shown.screen.key(*shown.app, 'x');  // the window keeps its commits
  shown.draw();
  CHECK(time.axis_by == AxisBy::prompts);
  CHECK(time.axis().last() == 120 * 160);
  CHECK(time.from == 40 * 160);
  CHECK(time.to == 60 * 160);
  go_to(*shown.app, "");
  CHECK(time.axis_by == AxisBy::clock);
  go_to(*shown.app, address);
  CHECK(time.axis_by == AxisBy::requests);
  CHECK(time.from == 40);
}

TEST_CASE("servers that come and go, and lost events, are marks on the timeline") {
  Stage shown;
  shown.script.add(0, 10);
  shown.script.say(TextKind::origin, 0, "KV events");
  shown.script.say(TextKind::worker, 0, "first\t100\t0\twhole");
  shown.open();
  const auto texts = [&] {
    std::vector<std::string> all;
    for (const HistoryMark& mark : shown.app->time().history.marks()) all.push_back(mark.text);
    return all;
  };
  CHECK(texts().empty());
  shown.script.say(TextKind::worker, 1, "second\t0\t0\twhole");
  shown.turn();
  shown.script.say(TextKind::worker, 0, "first\t120\t0\twhole, 1 gap");  // other figures, but no other state
  shown.turn();
  shown.script.say(TextKind::worker, 0, "first\t120\t0\twaits for messages that are missing");
  shown.turn();
  CHECK(texts() == std::vector<std::string>{"second came: whole", "first: waits for messages that are missing"});
  CHECK(Ink().has("server"));
}

TEST_CASE("where a feed names no node that was hit, what was hit most or never is said to be unknown") {
  Stage shown;
  const std::uint64_t node = shown.script.add(0, 10);
  shown.open();
  CHECK(Ink().has("Nothing was hit"));
  shown.script.begin_request(1, 320, 160);
  shown.turn();
  CHECK(Ink().has("not which nodes were hit"));
  CHECK_FALSE(Ink().has("Nothing was hit"));
  shown.script.touch(node);
  shown.turn();
  CHECK_FALSE(Ink().has("not which nodes were hit"));
}
