/// `canopy-inspector attach` without a name: which feeds there are, which one is chosen, and what is shown then.
#include <doctest/doctest.h>

#include <thread>

#include "ink.h"
#include "recorded.h"

using namespace canopy;
using namespace canopy::inspector;
using namespace canopy::test;

namespace {

/// Feeds that a test lets come and go, and worlds behind their names.
struct Harbour {
  std::vector<FoundFeed> feeds;
  FeedScript script;
  std::vector<std::string> requested;
  std::string refused;  ///< the reason why no feed can be attached
  Picker* picker = nullptr;
  std::unique_ptr<App> app;
  Headless screen;

  void comes(const std::string& name, const std::string& ended = {}) {
    feeds.push_back({name, 601, "engine", 16, 1, true, ended});
  }
  void open() {
    script.add(script.add(0, 10), 20);
    auto made =
        std::make_unique<Picker>([this] { return feeds; },
                                 [this](const std::string& name) -> Result<std::unique_ptr<Link>> {
                                   requested.push_back(name);
                                   if (!refused.empty()) return Error{refused};
                                   return std::unique_ptr<Link>(std::make_unique<ScriptLink>(script, script.commit()));
                                 });
    picker = made.get();
    app = std::make_unique<App>(std::move(made), Settings{});
    turn();
  }
  void turn() {
    if (app->picker()) picker->look_soon();
    app->pump(std::chrono::milliseconds(10));
    for (int i = 0; i < 3; ++i) screen.frame(*app);
  }
  bool shown() const { return !app->picker() && app->mirror().in_step() && app->mirror().node_count() == 2; }
};

}  // namespace

TEST_CASE("picker: a click on a feed attaches to it, and one that has ended cannot be chosen") {
  Harbour harbour;
  for (const char* name : {"chat", "serve"}) harbour.comes(name);
  harbour.comes("batch", "its process has gone");
  harbour.open();
  REQUIRE(harbour.app->picker());
  CHECK(harbour.picker->feeds().size() == 3);
  CHECK(harbour.app->session().state == Session::State::choosing);
  CHECK(harbour.app->tree().levels() == 0);
  ImVec2 at;
  REQUIRE(harbour.picker->middle_of("batch", at));
  harbour.screen.click(*harbour.app, at);
  harbour.turn();
  CHECK(harbour.requested.empty());
  REQUIRE(harbour.picker->middle_of("serve", at));
  harbour.screen.click(*harbour.app, at);
  harbour.turn();
  CHECK(harbour.requested == std::vector<std::string>{"serve"});
  CHECK(harbour.shown());
  CHECK(harbour.app->session().state == Session::State::live);
  CHECK(harbour.app->tree().levels() > 0);
  CHECK(harbour.app->mailbox().open);
}

TEST_CASE("picker: up, down and Enter choose, keys of panels that are not there do nothing") {
  Harbour harbour;
  for (const char* name : {"a", "b", "c"}) harbour.comes(name);
  harbour.comes("d", "the engine has ended");
  harbour.open();
  CHECK(harbour.picker->under_cursor() == "a");
  harbour.screen.press(*harbour.app, ImGuiKey_UpArrow);
  CHECK(harbour.picker->under_cursor() == "a");
  for (int i = 0; i < 5; ++i) harbour.screen.press(*harbour.app, ImGuiKey_DownArrow);
  CHECK(harbour.picker->under_cursor() == "c");
  harbour.screen.press(*harbour.app, ImGuiKey_UpArrow);
  for (const char key : {' ', 'p', 'e', 'w', 'v', 'm', 'n', '/', '2', 'f', 'z', 'g'})
    harbour.screen.key(*harbour.app, key);
  CHECK(harbour.app->tree_panel().view() == TreeView::icicle);
  CHECK(harbour.app->session().state == Session::State::choosing);
  harbour.screen.key(*harbour.app, 't');
  CHECK(harbour.app->settings().light);
  harbour.screen.press(*harbour.app, ImGuiKey_Enter);
  harbour.turn();
  CHECK(harbour.requested == std::vector<std::string>{"b"});
  CHECK(harbour.shown());
}

TEST_CASE("picker: the list follows feeds that start and end, and the cursor stays on its feed") {
  Harbour harbour;
  for (const char* name : {"b", "c"}) harbour.comes(name);
  harbour.open();
  harbour.screen.press(*harbour.app, ImGuiKey_DownArrow);
  CHECK(harbour.picker->under_cursor() == "c");
  harbour.feeds.insert(harbour.feeds.begin(), {"a", 7, "", 1, 2, false, ""});
  harbour.turn();
  CHECK(harbour.picker->feeds().size() == 3);
  CHECK(harbour.picker->under_cursor() == "c");
  ImVec2 at;
  CHECK(harbour.picker->middle_of("a", at));
  harbour.feeds.back().ended = "its process has gone";
  harbour.turn();
  CHECK(harbour.picker->under_cursor() == "a");
  harbour.feeds.pop_back();
  harbour.turn();
  CHECK_FALSE(harbour.picker->middle_of("c", at));
  // One is left of several: that is no reason to choose it for the person.
  harbour.feeds.pop_back();
  harbour.turn();
  CHECK(harbour.app->picker());
  CHECK(harbour.requested.empty());
}

TEST_CASE("picker: where there is none it waits, and shows the first that appears") {
  Harbour harbour;
  harbour.comes("old", "its process has gone");
  harbour.open();
  REQUIRE(harbour.app->picker());
  harbour.screen.press(*harbour.app, ImGuiKey_DownArrow);
  harbour.screen.press(*harbour.app, ImGuiKey_Enter);
  harbour.turn();
  CHECK(harbour.requested.empty());
  CHECK(Headless::vertices() > 400);  // the sentence
  harbour.feeds.insert(harbour.feeds.begin(), {"new", 7, "engine", 16, 1, true, ""});
  harbour.turn();
  CHECK(harbour.requested == std::vector<std::string>{"new"});
  CHECK(harbour.shown());
}

TEST_CASE("picker: the only one is shown at once, and what cannot be attached to is a sentence in the list") {
  Harbour harbour;
  harbour.comes("only");
  harbour.refused = "the feed 'only': it cannot be locked";
  harbour.open();
  CHECK(harbour.requested.size() == 1);
  REQUIRE(harbour.app->picker());
  CHECK(harbour.picker->complaint() == harbour.refused);
  harbour.turn();
  CHECK(harbour.requested.size() == 1);  // not again and again
  harbour.refused.clear();
  harbour.screen.press(*harbour.app, ImGuiKey_Enter);
  harbour.turn();
  CHECK(harbour.requested.size() == 2);
  CHECK(harbour.shown());
}

TEST_CASE("an engine that ended is named, and one of its name that starts again is attached to by itself") {
  FeedScript first, second;
  first.add(first.add(0, 10), 30);
  const auto node = second.add(0, 7);
  auto made = std::make_unique<ScriptLink>(first, first.commit());
  ScriptLink* const link = made.get();
  App app(std::move(made), Settings{});
  bool starts = false;
  int requested = 0;
  app.offer({[] { return std::vector<FoundFeed>{}; },
             [&](const std::string& name) -> Result<std::unique_ptr<Link>> {
               ++requested;
               CHECK(name == "a script");
               if (!starts) return Error{"there is no feed with this name"};
               return std::unique_ptr<Link>(std::make_unique<ScriptLink>(second, second.commit()));
             },
             {}});
  Headless screen;
  const auto turn = [&] {
    app.pump(std::chrono::milliseconds(10));
    for (int i = 0; i < 2; ++i) screen.frame(app);
  };
  turn();
  app.selection().select_node(std::uint64_t{1} << 32 | 2);
  app.mailbox().read_only = true;
  screen.key(app, 'c');
  turn();
  CHECK(requested == 0);
  link->gone = "process 601, which wrote the feed, has gone";
  turn();
  CHECK(requested == 1);
  CHECK(Ink().has("process 601, which wrote the feed, has gone; waiting for 'a script' to start again"));
  CHECK(app.mirror().node_count() == 2);  // the last picture stays
  starts = true;
  for (int i = 0; i < 100 && app.session().again == 0; ++i) {
    turn();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  CHECK(app.session().again == 1);
  turn();
  CHECK(app.session().state == Session::State::live);
  CHECK(app.mirror().node_count() == 1);
  CHECK(app.mirror().find(node) != nullptr);
  CHECK(app.selection().node == 0);
  CHECK(app.selection().colour == ColourBy::recency);
  CHECK(app.mailbox().read_only);
  CHECK(Ink().has("attached again 1 x"));
  CHECK(requested < 5);
}

TEST_CASE("a key leads back to the list of feeds, a recording is opened from there, and Esc returns") {
  FeedScript script;
  script.add(0, 10);
  const RecordedFile file(script, script.commit(), "opened");
  FeedScript live;
  live.add(0, 10);
  App app(std::make_unique<ScriptLink>(live, live.commit()), Settings{});
  std::string opened;
  app.offer({[] { return std::vector<FoundFeed>{{"serve-3", 5, "python", 16, 1, true, {}}}; },
             [](const std::string&) -> Result<std::unique_ptr<Link>> { return Error{"it cannot be locked"}; },
             [&](const std::string& path) -> Result<std::unique_ptr<Link>> {
               opened = path;
               auto recording = Recording::open(path);
               if (!recording) return recording.error();
               return link_to(std::move(*recording), path);
             }});
  Headless screen;
  const auto turn = [&] {
    while (!app.pump(std::chrono::milliseconds(100))) continue;
    for (int i = 0; i < 3; ++i) screen.frame(app);
  };
  turn();
  screen.key(app, 'o');
  turn();
  REQUIRE(app.picker());
  CHECK(Ink().has("serve-3"));
  CHECK(Ink().has("Or a recording:"));
  screen.press(app, ImGuiKey_Escape);
  turn();
  CHECK(app.picker() == nullptr);
  CHECK(app.session().state == Session::State::live);
  // By the button in the header, and a path that is none: a sentence, and the list stays.
  const Ink header;
  const Ink::Line* button = header.find("open");
  REQUIRE(button);
  screen.click(app, {(button->from.x + button->to.x) / 2, (button->from.y + button->to.y) / 2});
  turn();
  REQUIRE(app.picker());
  const auto type = [&](const std::string& path) {
    ImVec2 at;
    REQUIRE(app.picker()->middle_of("##path", at));
    screen.click(app, at);
    ImGui::GetIO().KeyCtrl = true;
    screen.press(app, ImGuiKey_A);
    ImGui::GetIO().KeyCtrl = false;
    ImGui::GetIO().AddInputCharactersUTF8(path.c_str());
    screen.frame(app);
    screen.press(app, ImGuiKey_Enter);
    turn();
  };
  type("/nowhere/x.feed");
  REQUIRE(app.picker());
  CHECK(opened == "/nowhere/x.feed");
  CHECK(Ink().has("/nowhere/x.feed: No such file or directory"));
  type(file.path());
  CHECK(opened == file.path());
  CHECK(app.picker() == nullptr);
  CHECK(app.session().state == Session::State::recording);
  CHECK(app.time().seekable);
}
