#include <doctest/doctest.h>
#include <mirror/names.h>
#include <views/controls_tab.h>

#include <chrono>
#include <map>

#include "ink.h"
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
      CHECK(app.time().held);
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
    screen.hold(app, at);
    turn();
    CHECK(link.sent.back().kind == Command::Kind::resize);
    const MirrorPool& pool = app.mirror().pool(0);
    CHECK(link.sent.back().amount == pool.limit * app.mirror().page_size() / 4 * static_cast<std::uint64_t>(tokens));
  }

  // If controls are not allowed, nothing is sent.
  app.mailbox().open = false;
  const std::size_t sent = link.sent.size();
  for (const char key : {'p', 'e', 'w', ' '}) screen.key(app, key);
  turn();
  CHECK(link.sent.size() == sent);
}

namespace {

/// CONTROLS in front, with two policies, three namespaces and a node.
struct Controls : Stage {
  std::uint64_t node = 0;
  explicit Controls(float width = 1600, float height = 900) : Stage(width, height) {
    for (std::uint32_t i = 0; i < 3; ++i) script.name_space(i, "tenant-" + std::to_string(i));
    for (const char* name : {"lru", "lfu", "slru"})
      script.say(TextKind::plugin, 0, std::string("canopy.EvictionStrategy/1\t") + name + "\ta policy\teviction.so");
    node = script.add(0, 10, 0);
    script.add(0, 10, 1), script.add(0, 10, 2);
    open();
    screen.key(*app, '2');
    draw();
  }
  ImVec2 at(const std::string& name) const {
    ImVec2 at{};
    REQUIRE_MESSAGE(app->panel<ControlsTab>().middle_of(name, at), name);
    return at;
  }
  std::vector<Command> take() { return std::exchange(link->sent, {}); }
};

}  // namespace

TEST_CASE("nothing that happens moves a button of CONTROLS") {
  for (const float width : {1024.F, 1600.F, 2560.F}) {
    Controls shown(width, 1400);
    const std::vector<std::string> names = {"an eviction",
                                            "a miss",
                                            "a miss of its namespace",
                                            "request",
                                            "hit rate <",
                                            "free <",
                                            "1 page",
                                            "64 pages",
                                            "a quarter less",
                                            "a quarter more",
                                            "set to",
                                            "lru",
                                            "lfu",
                                            "slru",
                                            "tenant-0",
                                            "tenant-1",
                                            "tenant-2",
                                            "step 1",
                                            "step 100",
                                            "read only"};
    std::map<std::string, ImVec2> before;
    for (const std::string& name : names) before[name] = shown.at(name);
    const auto check = [&](const char* after) {
      CAPTURE(after);
      for (const std::string& name : names) {
        CAPTURE(name);
        CHECK(shown.at(name).x == before[name].x);
        CHECK(shown.at(name).y == before[name].y);
      }
      CHECK(Ink().overprinted() == std::vector<std::string>{});
    };
    shown.script.say(TextKind::paused, 0,
                     "request 6853 of namespace tenant-2 missed 1,216 of the tokens it could reuse");
    shown.turn(Operation::control);
    CHECK(shown.app->mailbox().paused);
    check("it paused");
    shown.app->selection().select_node(shown.node);
    shown.draw();
    check("a node is selected");
    for (int i = 0; i < 12; ++i) shown.script.pin(shown.script.add(0, 1), true);
    shown.turn(Operation::control);
    check("pins came");
    shown.script.drain(0, 380);
    shown.turn(Operation::resize);
    if (width > 1100) CHECK(Ink().has("380 pages draining"));
    check("it drains");
    shown.script.say(TextKind::policy, 0, "lfu");
    shown.turn(Operation::policy);
    check("another policy");
    shown.script.remove(shown.node);
    shown.turn(Operation::evict);
    check("a namespace was emptied");
    shown.script.name_space(3, "tenant-3");
    shown.script.add(0, 4, 3);
    shown.turn();
    check("another namespace came");
    shown.app->mailbox().read_only = true;
    shown.draw();
    check("read only");
  }
}

TEST_CASE("what takes something away must be held, and a limit and a policy can be taken back") {
  Controls shown(1600, 1400);
  const std::uint64_t limit = 100'000 * 16;
  for (const char* name : {"1 page", "64 pages", "1,024 pages", "a quarter less", "a quarter more", "set to", "lfu",
                           "tenant-0", "tenant-1"}) {
    CAPTURE(name);
    shown.screen.click(*shown.app, shown.at(name));
    shown.screen.click(*shown.app, shown.at(name));
    shown.screen.hold(*shown.app, shown.at(name), kHoldSeconds * 0.8F);
    shown.draw();
    CHECK(shown.take().empty());
    CHECK(Ink().has("0.7"));  // its tooltip
    shown.screen.hold(*shown.app, shown.at(name));
    shown.draw();
    const auto sent = shown.take();
    REQUIRE(sent.size() == 1);
  }
  // Two limits and one policy were sent; Enter in the field of the limit sends none.
  CHECK_FALSE(Ink().has("undo: lru"));  // the policy has not changed yet
  shown.script.say(TextKind::policy, 0, "lfu");
  shown.turn(Operation::policy);
  shown.screen.hold(*shown.app, shown.at("undo: lru"));
  shown.draw();
  auto sent = shown.take();
  REQUIRE(sent.size() == 1);
  CHECK(sent[0].kind == Command::Kind::policy);
  CHECK(std::string(sent[0].name) == "lru");
  for (int i = 0; i < 3; ++i) {
    shown.screen.hold(*shown.app, shown.at("undo: 1,600,000"));
    shown.draw();
    sent = shown.take();
    REQUIRE(sent.size() == 1);
    CHECK(sent[0].kind == Command::Kind::resize);
    CHECK(sent[0].amount == limit);
  }
  shown.screen.hold(*shown.app, shown.at("undo"));
  CHECK(shown.take().empty());
  // Pressed elsewhere and let go here: nothing.
  ImGuiIO& io = ImGui::GetIO();
  io.MousePos = {2, 2};
  io.MouseDown[0] = true;
  shown.draw(2);
  io.MousePos = shown.at("1 page");
  shown.draw(80);
  io.MouseDown[0] = false;
  shown.draw(2);
  CHECK(shown.take().empty());
}

TEST_CASE("read only: no button and no key sends anything, and it stays on where the program began with it") {
  for (const bool locked : {false, true}) {
    Controls shown(1600, 1400);
    shown.app->selection().select_node(shown.node);
    shown.draw();
    if (locked) shown.app->mailbox().read_only = shown.app->mailbox().locked = true;
    else shown.screen.click(*shown.app, shown.at("read only"));
    shown.draw();
    CHECK(shown.app->mailbox().read_only);
    for (const char* name :
         {"a miss", "64 pages", "a quarter less", "set to", "lfu", "tenant-0", "step 1", "pause", "request", "pin #1"})
      shown.screen.hold(*shown.app, shown.at(name));
    for (const char key : {'p', 'e', 'w', ' ', ' '}) shown.screen.key(*shown.app, key);
    shown.screen.press(*shown.app, ImGuiKey_RightArrow);
    shown.draw();
    CHECK(shown.take().empty());
    shown.screen.click(*shown.app, shown.at("read only"));
    shown.draw();
    CHECK(shown.app->mailbox().read_only == locked);
    shown.screen.key(*shown.app, 'e');
    shown.draw();
    CHECK(shown.take().size() == (locked ? 0 : 1));
  }
}

TEST_CASE("the number of the next request to stop at has not begun yet, whatever is known") {
  FeedScript script;
  auto made = std::make_unique<ScriptLink>(script, script.commit());
  ScriptLink& link = *made;
  App app(std::move(made), Settings{});
  Headless screen;
  const auto requested = [&] {
    app.pump(std::chrono::milliseconds(10));
    screen.key(app, '2');
    screen.frame(app);
    ImVec2 at;
    REQUIRE(app.panel<ControlsTab>().middle_of("request", at));
    screen.click(app, at);
    app.pump(std::chrono::milliseconds(10));
    return link.sent.back().amount;
  };
  CHECK(requested() == 100);
  script.begin_request(340, 100, 0);
  link.bring(script.commit());
  CHECK(requested() == 440);
}

TEST_CASE("controls without room are listed by name, and only those") {
  for (const float height : {720.F, 2000.F}) {
    FeedScript script;
    script.add(0, 10);
    App app(std::make_unique<ScriptLink>(script, script.commit()), Settings{});
    Headless screen(1280, height);
    app.pump(std::chrono::milliseconds(10));
    screen.key(app, '2');
    for (int i = 0; i < 3; ++i) screen.frame(app);
    CAPTURE(height);
    CHECK(app.panel<ControlsTab>().above().empty());
    if (height > 1000) CHECK(app.panel<ControlsTab>().below().empty());
    else CHECK(app.panel<ControlsTab>().below().ends_with("flush"));
  }
}
