/// Lists that hold still while they are read, and what leads on from a dead end.
#include <doctest/doctest.h>
#include <views/requests_panel.h>

#include "ink.h"
#include "recorded.h"
#include "show.h"

using namespace canopy;
using namespace canopy::inspector;
using namespace canopy::test;

TEST_CASE("a list that is scrolled, under the mouse or has the selected row holds still and counts what is new") {
  Stage shown;
  shown.script.add(0, 10);
  for (std::uint64_t id = 1; id <= 200; ++id) shown.script.begin_request(id, 100, 0);
  shown.open();
  const RequestsPanel& panel = shown.app->panel<RequestsPanel>();
  std::uint64_t next = 201;
  const auto more = [&](int count) {
    for (int i = 0; i < count; ++i) shown.script.begin_request(next++, 100, 0), shown.turn();
  };
  more(3);
  CHECK(panel.rows().front() == 203);  // it is not read: the newest are on top

  const Ink ink;
  const Ink::Line* row = ink.find("197");
  REQUIRE(row);
  const ImVec2 there{row->from.x + 2, (row->from.y + row->to.y) / 2};
  ImGui::GetIO().MousePos = there;
  shown.draw();
  more(42);
  CHECK(panel.rows().front() == 203);
  CHECK(Ink().has("42 new"));
  shown.screen.click(*shown.app, there);
  CHECK(shown.app->selection().request == 197);
  ImGui::GetIO().MousePos = {-1, -1};
  more(3);
  CHECK(panel.rows().front() == 203);  // it has the selected row
  const Ink later;
  const Ink::Line* button = later.find("45 new");
  REQUIRE(button);
  shown.screen.click(*shown.app, {(button->from.x + button->to.x) / 2, (button->from.y + button->to.y) / 2});
  ImGui::GetIO().MousePos = {-1, -1};
  shown.draw();
  CHECK(panel.rows().front() == 248);
  // Found by its number: in sight, and it stays there.
  shown.screen.find(*shown.app, "r 20");
  shown.draw();
  CHECK(shown.app->selection().request == 20);
  more(30);
  CHECK(Ink().find("30 new"));
  CHECK(Ink().find("20") != nullptr);
  shown.app->go_back(), shown.app->go_back();
  shown.app->selection().request = 0;
  shown.draw();
}

TEST_CASE("the queue of eviction holds still under the mouse, and says what left it meanwhile") {
  Stage shown;
  std::vector<std::uint64_t> nodes;
  for (Tick i = 0; i < 40; ++i) nodes.push_back(shown.script.add(0, 1, 0, 0, i));
  shown.open();
  shown.screen.key(*shown.app, 'L');
  shown.draw();
  const Ink ink;
  const Ink::Line* first = nullptr;
  for (const Ink::Line& line : ink.lines())
    if (line.text.starts_with("#1") && line.from.x > 850 && line.from.y > 640) {
      first = &line;
      break;
    }
  REQUIRE(first);
  const ImVec2 there{first->from.x + 2, (first->from.y + first->to.y) / 2};
  ImGui::GetIO().MousePos = there;
  shown.draw();
  shown.script.remove(nodes[1]);
  shown.script.add(0, 1, 0, 0, 0);
  shown.turn(Operation::evict);
  CHECK(Ink().has("evicted meanwhile"));
  CHECK(Ink().has("1 changed"));
  ImGui::GetIO().MousePos = {-1, -1};
  shown.turn();
  shown.turn();
  CHECK_FALSE(Ink().has("evicted meanwhile"));
}

TEST_CASE("a click on any reason lists as many requests as its chip counts") {
  Stage shown;
  shown.script.add(0, 4);
  for (std::uint64_t id = 1; id < 40; ++id)
    shown.script.begin_request(id, static_cast<std::uint32_t>(60 + id * 7), static_cast<std::uint32_t>(id % 3 * 16));
  shown.script.begin_request(40, 17, 16);
  shown.open();
  const RequestsPanel& panel = shown.app->panel<RequestsPanel>();
  REQUIRE(panel.groups().size() >= 2);
  const std::vector<MissGroup> groups = panel.groups();
  for (const MissGroup& group : groups) {
    CAPTURE(static_cast<int>(group.miss));
    ImVec2 at;
    REQUIRE(panel.middle_of(group.miss, at));
    shown.screen.click(*shown.app, at);
    shown.draw();
    CHECK(panel.rows().size() == group.requests);
    CHECK_FALSE(Ink().has("No request"));
    REQUIRE(panel.middle_of(group.miss, at));
    shown.screen.click(*shown.app, at);
    shown.draw();
  }
}

TEST_CASE("of a node that was evicted it is said when and how, and EVENTS finds it among others") {
  FeedScript script(1'000);
  std::vector<Event> events;
  const auto commit = [&](Operation operation = Operation::insert) {
    const auto some = script.commit(operation);
    events.insert(events.end(), some.begin(), some.end());
  };
  const auto first = script.add(0, 4), second = script.add(0, 3), third = script.add(0, 2);
  script.name(first, 11), script.name(second, 12), script.name(third, 13);
  commit();
  script.remove(first), script.remove(second), script.remove(third);
  commit(Operation::evict);
  for (int i = 0; i < 50; ++i) commit();
  const RecordedFile file(script, events, "evicted");
  auto recording = Recording::open(file.path());
  REQUIRE(recording);
  App app(link_to(std::move(*recording), file.path()), Settings{});
  Headless screen;
  const auto turn = [&] {
    while (!app.pump(std::chrono::milliseconds(1000))) continue;
    for (int i = 0; i < 3; ++i) screen.frame(app);
  };
  turn();
  app.selection().select_node(first);
  turn();
  std::string words = Ink().text();
  std::replace(words.begin(), words.end(), '\n', ' ');
  CHECK(words.find("Node #1 was evicted by lru at tick") != std::string::npos);
  CHECK(words.find("This was commit 2; type #1 in EVENTS to find it.") != std::string::npos);
  // The line of the log names the last of the three; the field finds the first as well.
  screen.key(app, '1');
  turn();
  const Ink ink;
  const Ink::Line* field = ink.find("#12, r 4711, evict");
  REQUIRE(field);
  screen.click(app, {field->from.x + 4, (field->from.y + field->to.y) / 2});
  ImGui::GetIO().AddInputCharactersUTF8("#1");
  turn();
  CHECK(Ink().has("evict, 3 nodes evicted"));
  CHECK(Ink().has("insert, 3 nodes added"));
  const Ink now;
  const Ink::Line* back = now.find("to the moment before");
  REQUIRE(back);
  screen.click(app, {(back->from.x + back->to.x) / 2, (back->from.y + back->to.y) / 2});
  turn();
  CHECK(app.time().at == 1);
  CHECK(app.mirror().find(first) != nullptr);
}

TEST_CASE("a zoom stays with its node while the tree grows on all sides") {
  Stage shown;
  const auto left = shown.script.add(0, 20, 0), node = shown.script.add(0, 20, 1);
  const auto child = shown.script.add(node, 10, 1);
  shown.script.name_space(1, "tenant-2");
  shown.open();
  const auto place = [&](std::uint64_t id) {
    ImVec2 at{-1, -1};
    shown.app->tree_panel().middle_of(shown.app->tree(), id, at);
    return at;
  };
  shown.app->selection().select_node(node);
  shown.screen.key(*shown.app, 'z');
  shown.draw();
  const float before = place(node).x;
  for (int i = 0; i < 30; ++i) {
    shown.script.add(left, 30, 0), shown.script.add(0, 5, 2);
    shown.turn();
    CHECK(place(node).x == doctest::Approx(before).epsilon(0.01));
  }
  for (int i = 0; i < 5; ++i) shown.script.add(node, 30, 1);  // it grows itself: it still fits
  shown.turn();
  CHECK(place(node).x == doctest::Approx(before).epsilon(0.01));
  // Zoomed by hand: what is in the middle stays in the middle.
  ImGui::GetIO().MousePos = place(child);
  for (int i = 0; i < 4; ++i) {
    ImGui::GetIO().MouseWheel = 1;
    shown.draw(1);
  }
  ImGui::GetIO().MousePos = {-1, -1};
  shown.draw();
  const float at = place(child).x;
  for (int i = 0; i < 30; ++i) {
    shown.script.add(left, 30, 0);
    shown.turn();
    CHECK(place(child).x == doctest::Approx(at).epsilon(0.02));
  }
  // Evicted: its parent is what is left there.
  shown.script.remove(child);
  shown.turn(Operation::evict);
  CHECK(place(node).x > 0);
}
