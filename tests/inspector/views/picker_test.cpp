/// `canopy-inspector attach` without a name: which feeds there are, which one is chosen, and what is shown then.
#include <doctest/doctest.h>

#include "feed_script.h"

using namespace canopy;
using namespace canopy::inspector;
using namespace canopy::test;

namespace {

/// Feeds that a test lets come and go, and worlds behind their names.
struct Harbour {
  std::vector<FoundFeed> feeds;
  FeedScript script;
  std::vector<std::string> asked;
  std::string refused;  ///< why nothing can be attached to
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
                                   asked.push_back(name);
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
  CHECK(harbour.asked.empty());
  REQUIRE(harbour.picker->middle_of("serve", at));
  harbour.screen.click(*harbour.app, at);
  harbour.turn();
  CHECK(harbour.asked == std::vector<std::string>{"serve"});
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
  CHECK(harbour.asked == std::vector<std::string>{"b"});
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
  CHECK(harbour.asked.empty());
}

TEST_CASE("picker: where there is none it waits, and shows the first that appears") {
  Harbour harbour;
  harbour.comes("old", "its process has gone");
  harbour.open();
  REQUIRE(harbour.app->picker());
  harbour.screen.press(*harbour.app, ImGuiKey_DownArrow);
  harbour.screen.press(*harbour.app, ImGuiKey_Enter);
  harbour.turn();
  CHECK(harbour.asked.empty());
  CHECK(Headless::vertices() > 400);  // the sentence
  harbour.feeds.insert(harbour.feeds.begin(), {"new", 7, "engine", 16, 1, true, ""});
  harbour.turn();
  CHECK(harbour.asked == std::vector<std::string>{"new"});
  CHECK(harbour.shown());
}

TEST_CASE("picker: the only one is shown at once, and what cannot be attached to is a sentence in the list") {
  Harbour harbour;
  harbour.comes("only");
  harbour.refused = "the feed 'only': it cannot be locked";
  harbour.open();
  CHECK(harbour.asked.size() == 1);
  REQUIRE(harbour.app->picker());
  CHECK(harbour.picker->complaint() == harbour.refused);
  harbour.turn();
  CHECK(harbour.asked.size() == 1);  // not again and again
  harbour.refused.clear();
  harbour.screen.press(*harbour.app, ImGuiKey_Enter);
  harbour.turn();
  CHECK(harbour.asked.size() == 2);
  CHECK(harbour.shown());
}
