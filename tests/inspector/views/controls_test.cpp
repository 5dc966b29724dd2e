#include <doctest/doctest.h>
#include <views/controls_tab.h>
#include <views/names.h>

#include <chrono>

#include "show.h"

using namespace canopy;
using namespace canopy::inspector;
using namespace canopy::test;

TEST_CASE("a click selects the node under it, in the tree and in every other panel") {
  FeedScript script;
  const auto root = script.add(0, 10), left = script.add(root, 30), right = script.add(root, 60);
  auto link = std::make_unique<ScriptLink>(script, script.commit());
  App app(std::move(link), Settings{});
  Headless screen;
  app.pump(std::chrono::milliseconds(10));
  screen.frame(app);
  screen.frame(app);
  for (const auto id : {right, left, root}) {
    ImVec2 at;
    REQUIRE(app.tree_panel().middle_of(app.tree(), id, at));
    screen.click(app, at);
    CHECK(app.selection().node == id);
  }
  screen.key(app, 'c');
  CHECK(app.selection().colour == ColourBy::recency);
  screen.key(app, '?');
  CHECK(app.selection().help);
}

TEST_CASE("space pauses an engine that takes controls, and holds the picture of one that does not") {
  FeedScript script;
  script.add(0, 10);
  const std::vector<Event> events = script.commit();
  for (const bool controls : {true, false}) {
    script.header().controls = controls;
    auto made = std::make_unique<ScriptLink>(script, events);
    ScriptLink& link = *made;
    App app(std::move(made), Settings{});
    Headless screen;
    app.pump(std::chrono::milliseconds(10));
    screen.frame(app);
    screen.key(app, ' ');
    app.pump(std::chrono::milliseconds(10));
    if (controls) {
      REQUIRE(link.sent.size() == 1);
      CHECK(link.sent[0].kind == Command::Kind::pause);
      CHECK(app.mailbox().paused);
      screen.key(app, ' ');
      app.pump(std::chrono::milliseconds(10));
      CHECK(link.sent.back().kind == Command::Kind::go_on);
    } else {
      CHECK(link.sent.empty());
      CHECK(app.session().state == Session::State::stopped);
    }
  }
}

TEST_CASE("a node is pinned by key and by click, and keys let the engine go on until something happens") {
  FeedScript script;
  const auto root = script.add(0, 10), leaf = script.add(root, 20);
  auto made = std::make_unique<ScriptLink>(script, script.commit());
  ScriptLink& link = *made;
  App app(std::move(made), Settings{});
  Headless screen;
  const auto turn = [&] {
    app.pump(std::chrono::milliseconds(10));
    screen.frame(app);
  };
  turn();
  screen.key(app, 'p');  // nothing is selected
  turn();
  CHECK(link.sent.empty());
  app.selection().select_node(leaf);
  screen.key(app, 'p');
  turn();
  REQUIRE(link.sent.size() == 1);
  CHECK(link.sent[0].kind == Command::Kind::pin);
  CHECK(link.sent[0].amount == leaf);
  script.pin(leaf, true);
  link.bring(script.commit(Operation::control));
  turn();
  CHECK(app.mirror().pins().contains(leaf));
  screen.key(app, 'p');
  turn();
  REQUIRE(link.sent.size() == 2);
  CHECK(link.sent[1].kind == Command::Kind::unpin);

  app.mailbox().paused = true;
  screen.key(app, 'e');
  turn();
  CHECK(link.sent.back().kind == Command::Kind::run_until);
  CHECK(link.sent.back().until == Condition::evicted);
  CHECK_FALSE(app.mailbox().paused);
  screen.key(app, 'w');
  turn();
  CHECK(link.sent.back().until == Condition::missed);
  CHECK(link.sent.back().amount == kAnySpace);
  // It pauses by itself, and is let go on by the next space.
  script.say(TextKind::paused, 0, "request 5 missed");
  link.bring(script.commit());
  turn();
  CHECK(app.mailbox().paused);
  screen.key(app, ' ');
  turn();
  CHECK(link.sent.back().kind == Command::Kind::go_on);
  CHECK_FALSE(app.mailbox().paused);

  // Every button and number of the tab, where it is drawn.
  screen.key(app, '2');
  turn();
  for (const auto& [what, until] : {std::pair("an eviction", Condition::evicted),
                                    {"request", Condition::request},
                                    {"hit rate <", Condition::hit_rate},
                                    {"free <", Condition::free}}) {
    CAPTURE(what);
    ImVec2 at;
    REQUIRE(app.panel<ControlsTab>().middle_of(what, at));
    screen.click(app, at);
    turn();
    CHECK(link.sent.back().kind == Command::Kind::run_until);
    CHECK(link.sent.back().until == until);
  }
  CHECK(link.sent.back().amount == 64);
  ImVec2 at;
  REQUIRE(app.panel<ControlsTab>().middle_of("unpin " + node_name(leaf), at));
  screen.click(app, at);
  turn();
  CHECK(link.sent.back().kind == Command::Kind::unpin);
  CHECK(link.sent.back().amount == leaf);
  for (const auto& [what, tokens] : {std::pair("a quarter less", 3), {"a quarter more", 5}, {"set to", 5}}) {
    CAPTURE(what);
    REQUIRE(app.panel<ControlsTab>().middle_of(what, at));
    screen.click(app, at);
    turn();
    CHECK(link.sent.back().kind == Command::Kind::resize);
    const MirrorPool& pool = app.mirror().pool(0);
    CHECK(link.sent.back().amount == pool.limit * app.mirror().page_size() / 4 * static_cast<std::uint64_t>(tokens));
  }

  // Where controls are not allowed nothing is sent.
  app.mailbox().open = false;
  const std::size_t sent = link.sent.size();
  for (const char key : {'p', 'e', 'w', ' '}) screen.key(app, key);
  turn();
  CHECK(link.sent.size() == sent);
}

TEST_CASE("the number of the next request to stop at has not begun yet, whatever is known") {
  FeedScript script;
  auto made = std::make_unique<ScriptLink>(script, script.commit());
  ScriptLink& link = *made;
  App app(std::move(made), Settings{});
  Headless screen;
  const auto asked = [&] {
    app.pump(std::chrono::milliseconds(10));
    screen.key(app, '2');
    screen.frame(app);
    ImVec2 at;
    REQUIRE(app.panel<ControlsTab>().middle_of("request", at));
    screen.click(app, at);
    app.pump(std::chrono::milliseconds(10));
    return link.sent.back().amount;
  };
  CHECK(asked() == 100);
  script.begin_request(340, 100, 0);
  link.bring(script.commit());
  CHECK(asked() == 400);
}

TEST_CASE("controls without room are listed by name, and only those") {
  for (const float height : {720.F, 2000.F}) {
    FeedScript script;
    script.add(0, 10);
    App app(std::make_unique<ScriptLink>(script, script.commit()), Settings{});
    Headless screen(1280, height);
    app.pump(std::chrono::milliseconds(10));
    for (int i = 0; i < 3; ++i) screen.key(app, '2');
    CAPTURE(height);
    CHECK(app.panel<ControlsTab>().above().empty());
    if (height > 1000) CHECK(app.panel<ControlsTab>().below().empty());
    else CHECK(app.panel<ControlsTab>().below().ends_with("flush"));
  }
}
