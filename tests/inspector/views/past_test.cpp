/// Going back in a live feed: what is kept, in how much memory, and that nothing is lost meanwhile.
#include <conformance/model/effort.h>
#include <demo/live_demo.h>
#include <doctest/doctest.h>
#include <sources/kept_past.h>

#include <map>

#include "ink.h"
#include "recorded.h"
#include "show.h"

using namespace canopy;
using namespace canopy::inspector;
using namespace canopy::test;
using namespace std::chrono_literals;

namespace {

/// A feed piece by piece, the mirror that follows it, what is kept of it, and all of it for comparison.
struct Followed {
  FeedScript script{4'000'000};
  Mirror now;
  KeptPast past;
  std::vector<std::vector<Event>> commits;
  std::vector<std::uint64_t> nodes;
  explicit Followed(std::size_t bytes) : now(script.header()), past(bytes) {}
  void bring(const std::vector<Event>& piece) {
    past.add(piece, now);
    now.take(piece);
  }
  /// One operation: a node comes, and from time to time one leaves.
  void step() {
    nodes.push_back(script.add(0, 1 + static_cast<std::uint32_t>(nodes.size() % 3)));
    if (nodes.size() % 5 == 0) script.remove(nodes[nodes.size() - 4]);
    commits.push_back(script.commit());
    bring(commits.back());
  }
  /// The state after `commit` operations, made from the beginning.
  Mirror at(std::uint64_t commit) {
    Mirror mirror(script.header());
    for (std::uint64_t i = 0; i < commit; ++i) mirror.take(commits[static_cast<std::size_t>(i)]);
    return mirror;
  }
  void expect(std::uint64_t commit, Mirror& mirror, std::uint64_t& place) {
    REQUIRE(past.show(commit, mirror, place, KeptPast::Clock::now() + 60s));
    const Mirror wanted = at(commit);
    REQUIRE(mirror.commits() == commit);
    CHECK(mirror.moment() == wanted.moment());
    CHECK(mirror.drift() == 0);
    CHECK(mirror.pool(0).counted == wanted.pool(0).counted);
  }
};

}  // namespace

TEST_CASE("any kept moment of a live feed is the state that was there, whichever way one comes to it") {
  Followed feed(std::size_t{64} << 20);
  for (int i = 0; i < 3'000; ++i) feed.step();
  CHECK(feed.past.first() <= 2);
  Mirror shown = feed.now;
  std::uint64_t place = 0;
  for (const std::uint64_t commit : {2'999U, 2'998U, 2'997U, 10U, 11U, 2'500U, 2'499U, 2'100U, 2'101U, 3U, 3'000U})
    feed.expect(commit, shown, place);
  // The feed goes on, and the shown moment follows on wish.
  for (int i = 0; i < 50; ++i) feed.step();
  CHECK(shown.commits() == 3'000);
  feed.expect(3'050, shown, place);
}

TEST_CASE("the past of a live feed keeps within its memory, and its beginning moves on") {
  constexpr std::size_t kBytes = std::size_t{8} << 20;
  const auto steps = std::max<std::uint64_t>(with_effort(60'000), 20'000);
  Followed feed(kBytes);
  std::uint64_t first = 0;
  bool moved = false;
  for (std::uint64_t i = 0; i < steps; ++i) {
    feed.step();
    if (feed.past.empty()) continue;
    // One copy of the mirror may be larger than the half that copies have.
    CHECK(feed.past.bytes() <= std::max(kBytes, kBytes / 2 + feed.now.bytes()) + (std::size_t{2} << 20));
    CHECK(feed.past.first() >= first);
    moved |= feed.past.first() > std::max<std::uint64_t>(first, 2);
    first = feed.past.first();
  }
  CHECK(moved);
  CHECK(feed.past.first() < steps - 1'000);  // but much is kept
  Mirror shown = feed.now;
  std::uint64_t place = 0;
  feed.expect(first, shown, place);
  feed.expect(steps - 1, shown, place);
  feed.expect(steps - 2, shown, place);
  // An earlier one than the first is the first.
  CHECK(feed.past.show(1, shown, place, KeptPast::Clock::now() + 60s));
  CHECK(shown.commits() == first);
}

TEST_CASE("pieces that end within an operation, a keyframe for another reader, and lost events") {
  Followed feed(std::size_t{64} << 20);
  for (int i = 0; i < 100; ++i) feed.step();
  // Pieces of five events.
  std::vector<Event> all;
  for (int i = 0; i < 100; ++i) {
    feed.nodes.push_back(feed.script.add(0, 1));
    feed.commits.push_back(feed.script.commit());
    all.insert(all.end(), feed.commits.back().begin(), feed.commits.back().end());
  }
  for (std::size_t i = 0; i < all.size(); i += 5)
    feed.bring({all.begin() + static_cast<std::ptrdiff_t>(i),
                all.begin() + static_cast<std::ptrdiff_t>(std::min(i + 5, all.size()))});
  CHECK(feed.now.commits() == 200);
  // Another reader attached: the engine sends its whole state, and the mirror skips it.
  FeedScript other(1000);
  other.add(0, 1);
  const std::size_t before = feed.past.bytes();
  feed.bring(other.commit());
  CHECK(feed.past.bytes() == before);
  for (int i = 0; i < 10; ++i) feed.step();
  CHECK(feed.now.commits() == 210);
  Mirror shown = feed.now;
  std::uint64_t place = 0;
  for (const std::uint64_t commit : {150U, 149U, 201U, 209U, 50U}) feed.expect(commit, shown, place);
  // Lost events: nothing before them can be shown.
  feed.now.lost();
  feed.past.lost();
  CHECK(feed.past.empty());
  FeedScript again(1000);
  again.add(0, 3);
  feed.bring(again.commit());
  again.add(0, 4);
  feed.bring(again.commit());
  CHECK(feed.past.first() == 211);
  REQUIRE(feed.past.show(211, shown, place, KeptPast::Clock::now() + 60s));
  CHECK(shown.node_count() == 1);
}

TEST_CASE("left goes back in a live feed, the header says so, nothing is lost, and End is the present again") {
  Stage shown;
  shown.script.header().controls = 0;
  std::vector<std::uint64_t> ids{shown.script.add(0, 10)};
  shown.open();
  std::map<std::uint64_t, std::size_t> nodes;
  const auto live = [&](int turns) {
    for (int i = 0; i < turns; ++i) {
      ids.push_back(shown.script.add(ids.front(), 2));
      shown.script.begin_request(ids.size(), 100, 16);
      shown.turn();
      nodes[shown.app->time().end] = shown.app->time().held ? 0 : shown.app->mirror().node_count();
    }
  };
  live(20);
  App& app = *shown.app;
  const std::uint64_t then = app.time().at;
  CHECK(app.time().live);
  CHECK_FALSE(app.time().held);
  CHECK_FALSE(Ink().has("PAST"));
  for (std::uint64_t back = 1; back <= 3; ++back) {
    shown.screen.press(app, ImGuiKey_LeftArrow);
    shown.draw();
    CHECK(app.time().held);
    CHECK(app.time().at == then - back);
    CHECK(app.mirror().node_count() == nodes[then - back]);
  }
  CHECK(Ink().has("PAST: 3.0 ms ago. Back to now"));
  CHECK(Ink().overprinted() == std::vector<std::string>{});
  // The feed goes on; what is shown holds still.
  const std::size_t held = app.mirror().node_count();
  live(30);
  CHECK(app.mirror().node_count() == held);
  CHECK(app.time().end == then + 30);
  CHECK(app.time().history.commits() == then + 30);
  CHECK(Ink().has("PAST: 33.0 ms ago"));
  shown.screen.press(app, ImGuiKey_RightArrow);
  shown.draw();
  CHECK(app.time().at == then - 2);
  CHECK(app.mirror().drift() == 0);
  shown.screen.press(app, ImGuiKey_End);
  shown.draw();
  CHECK_FALSE(app.time().held);
  CHECK(app.time().at == then + 30);
  CHECK(app.mirror().node_count() == 51);
  CHECK(app.mirror().requests().size() == 50);
  CHECK_FALSE(Ink().has("PAST"));
  // Space holds the moment, and by the button one is back.
  shown.screen.key(app, ' ');
  shown.draw();
  CHECK(app.time().held);
  live(5);
  CHECK(app.mirror().node_count() == 51);
  const Ink ink;
  const Ink::Line* button = ink.find("Back to now");
  REQUIRE(button);
  shown.screen.click(app, {(button->from.x + button->to.x) / 2, (button->from.y + button->to.y) / 2});
  shown.draw();
  CHECK_FALSE(app.time().held);
  CHECK(app.mirror().node_count() == 56);
}

TEST_CASE("a command is never sent while an earlier moment is shown") {
  Stage shown;
  const std::uint64_t root = shown.script.add(0, 10);
  shown.open();
  for (int i = 0; i < 5; ++i) {
    shown.script.add(root, 1);
    shown.turn();
  }
  App& app = *shown.app;
  app.selection().select_node(root);
  shown.screen.press(app, ImGuiKey_LeftArrow);
  shown.draw();
  REQUIRE(app.time().held);
  for (const char key : {'p', 'e', 'w'}) shown.screen.key(app, key);
  app.mailbox().send(Command::Kind::flush);
  shown.draw();
  CHECK(shown.link->sent.empty());
  app.open_tab("CONTROLS");
  shown.draw();
  CHECK(Ink().has("the past is shown: nothing is sent"));
  shown.screen.key(app, ' ');  // back to now, and not a pause
  shown.draw();
  CHECK_FALSE(app.time().held);
  shown.screen.key(app, 'p');
  shown.draw();
  REQUIRE(shown.link->sent.size() == 1);
  CHECK(shown.link->sent[0].kind == Command::Kind::pin);
}

TEST_CASE("the past of an engine that ended can be looked at, and the next engine waits until that is done") {
  Stage shown;
  shown.script.add(0, 10);
  shown.open();
  for (int i = 0; i < 5; ++i) {
    shown.script.add(0, 1);
    shown.turn();
  }
  App& app = *shown.app;
  FeedScript next;
  next.add(0, 1);
  app.offer({[] { return std::vector<FoundFeed>{}; },
             [&](const std::string&) -> Result<std::unique_ptr<Link>> {
               return std::unique_ptr<Link>(std::make_unique<ScriptLink>(next, next.commit()));
             },
             {}});
  shown.screen.press(app, ImGuiKey_LeftArrow);
  shown.draw();
  shown.link->gone = "process 7, which wrote the feed, has gone";
  for (int i = 0; i < 3; ++i) shown.draw();
  shown.screen.press(app, ImGuiKey_LeftArrow);
  shown.draw();
  CHECK(app.time().held);
  CHECK(app.mirror().node_count() == 4);
  CHECK(app.session().again == 0);
  shown.screen.press(app, ImGuiKey_End);
  shown.draw();
  shown.draw();
  CHECK(app.session().again == 1);
  CHECK(app.mirror().node_count() == 1);
  CHECK_FALSE(app.time().held);
}

TEST_CASE("the demo's engine goes on while an earlier moment of it is shown, as it was then") {
  auto demo = demo::LiveDemo::make();
  REQUIRE(demo);
  Headless screen;
  App app(link_to((*demo)->header(), "demo"), Settings{});
  (*demo)->start(false);
  struct Then {
    std::size_t nodes;
    std::uint64_t hit, free;
    Tick tick;
  };
  std::map<std::uint64_t, Then> was;
  const auto now = [&] {
    return Then{app.mirror().node_count(), app.mirror().hit_tokens(), app.mirror().pool(0).counted.free,
                app.mirror().tick()};
  };
  const auto turn = [&] {
    while (!app.pump(50ms)) continue;
    for (int i = 0; i < 2; ++i) screen.frame(app);
  };
  for (std::uint64_t requests = 10; requests <= 400; requests += 10) {
    (*demo)->run_to(requests);
    turn();
    was[app.time().end] = now();
  }
  const auto check = [&](std::uint64_t commit, const Then& then) {
    app.time().seek(commit);
    turn();
    CHECK(app.time().at == commit);
    CHECK(app.mirror().node_count() == then.nodes);
    CHECK(app.mirror().hit_tokens() == then.hit);
    CHECK(app.mirror().pool(0).counted.free == then.free);
    CHECK(app.mirror().tick() == then.tick);
    CHECK(app.mirror().drift() == 0);
    CHECK(Ink().overprinted() == std::vector<std::string>{});
  };
  for (auto moment = was.rbegin(); moment != was.rend(); ++moment) check(moment->first, moment->second);
  (*demo)->run_to(500);
  for (const auto& [commit, then] : was) check(commit, then);
  app.time().seek(app.time().end);
  turn();
  CHECK_FALSE(app.time().held);
  CHECK(app.mirror().commits() > was.rbegin()->first);
  CHECK(app.mirror().drift() == 0);
}
