/// The list of commands: what is in it, how a few letters find a line, and that a line does what its key does.
#include <doctest/doctest.h>
#include <shell/keys.h>

#include <set>

#include "ink.h"
#include "show.h"

using namespace canopy;
using namespace canopy::inspector;
using namespace canopy::test;

namespace {

/// An inspector with a tree, and its list of commands.
struct Listed {
  Stage shown;
  std::vector<std::string> saved;
  explicit Listed(float width = 1280, float height = 744) : shown(width, height) {
    shown.script.add(shown.script.add(0, 10), 20);
    shown.open();
    shown.app->offer_exports([this](const std::string& name, const std::string&) {
      saved.push_back(name);
      return "wrote " + name;
    });
    for (int i = 0; i < 5; ++i) {
      shown.script.add(0, 1);
      shown.turn();
    }
  }
  App& app() { return *shown.app; }
  void type(const char* words) {
    shown.screen.key(app(), ':');
    shown.draw();
    REQUIRE(app().commands().is_open());
    ImGui::GetIO().AddInputCharactersUTF8(words);
    shown.draw();
  }
  /// Opens the list, types, and chooses the first line.
  void run(const char* words) {
    type(words);
    shown.screen.press(app(), ImGuiKey_Enter);
    shown.draw();
    CHECK_FALSE(app().commands().is_open());
  }
};

}  // namespace

TEST_CASE("letters in their order fit a line, and beginnings of words fit best") {
  CHECK(fit_of("", "dark or light theme") == 0);
  CHECK(fit_of("theme", "dark or light theme") > fit_of("theme", "the tree: elsewhere, more"));
  CHECK(fit_of("xyz", "dark or light theme") < 0);
  CHECK(fit_of("emeht", "dark or light theme") < 0);
  CHECK(fit_of("DOLT", "dark or light theme") > 0);
  CHECK(fit_of("dol t", "dark or light theme") == fit_of("dolt", "dark or light theme"));
  CHECK(fit_of("a", "") < 0);
}

TEST_CASE("the list has every command of a key, every panel, each file that can be written, and the feeds") {
  Listed listed;
  listed.app().offer({[] {
                        return std::vector<FoundFeed>{{"serve-3", 5, "python", 16, 1, false, {}},
                                                      {"gone", 6, "python", 16, 1, false, "the engine has ended"}};
                      },
                      [](const std::string& name) -> Result<std::unique_ptr<Link>> { return Error{name + " is away"}; },
                      {}});
  listed.shown.screen.key(listed.app(), ':');
  listed.shown.draw();
  std::set<std::string> words;
  for (const ListedCommand* each : listed.app().commands().fitting()) words.insert(each->words);
  for (const KeyLine& line : key_lines())
    for (const KeyCommand& command : line.commands)
      if (command.words) CHECK_MESSAGE(words.contains(command.words), command.words);
  for (const PanelInfo& panel : panels())
    if (!panel.is_bar()) CHECK(words.contains(std::string(panel.title) + ": " + panel.help));
  for (const char* file : {"canopy-timeline.csv", "canopy-trace.json", "canopy-requests.csv"})
    CHECK_MESSAGE(std::any_of(words.begin(), words.end(),
                              [&](const std::string& line) { return line.starts_with(std::string("write ") + file); }),
                  file);
  CHECK(words.contains("show the feed serve-3"));
  CHECK_FALSE(words.contains("show the feed gone"));
  CHECK(Ink().overprinted() == std::vector<std::string>{});
  listed.shown.screen.press(listed.app(), ImGuiKey_Escape);
  listed.shown.draw();
  CHECK_FALSE(listed.app().commands().is_open());
  listed.run("serve3");
  CHECK(Ink().has("serve-3 is away"));
}

TEST_CASE("a chosen line does what its key does, and keys do nothing else meanwhile") {
  Listed listed;
  App& app = listed.app();
  const bool light = app.settings().light;
  listed.run("theme");
  CHECK(app.settings().light != light);
  listed.run("histogr");
  CHECK(app.full_window() == 'H');
  listed.run("tree cached prefix");
  CHECK(app.full_window() == 'T');
  listed.type("timeline.csv");
  CHECK(app.commands().fitting().empty());  // the timeline is not on the screen
  listed.shown.screen.press(app, ImGuiKey_Escape);
  listed.shown.draw();
  app.leave_full_window();
  listed.shown.draw();
  listed.run("timeline.csv");
  CHECK(listed.saved == std::vector<std::string>{"canopy-timeline.csv"});
  listed.run("one commit back");
  CHECK(app.time().held);
  listed.run("back to the present");
  CHECK_FALSE(app.time().held);
  // Down and Enter choose a line; letters and arrows reach nothing behind the list.
  listed.type("t");
  const auto lines = app.commands().fitting();
  const auto back = std::find_if(lines.begin(), lines.end(),
                                 [](const ListedCommand* one) { return one->words == "one commit back"; });
  REQUIRE(back != lines.begin());
  REQUIRE(back != lines.end());
  listed.shown.screen.press(app, ImGuiKey_LeftArrow);
  CHECK_FALSE(app.time().held);
  for (auto at = lines.begin(); at != back; ++at) listed.shown.screen.press(app, ImGuiKey_DownArrow);
  listed.shown.screen.press(app, ImGuiKey_Enter);
  listed.shown.draw();
  CHECK(app.time().held);
  listed.run("back to the present");
  listed.type("qqqqqq");
  CHECK(Ink().has("Nothing has these letters"));
  listed.shown.screen.press(app, ImGuiKey_Enter);
  listed.shown.draw();
  CHECK(app.commands().is_open());
  listed.shown.screen.click(app, {5, 700});
  listed.shown.draw();
  CHECK_FALSE(app.commands().is_open());
}

TEST_CASE("the sheet says what the inspector itself needs") {
  Listed listed;
  listed.shown.screen.key(listed.app(), '?');
  listed.shown.draw();
  CHECK_FALSE(Ink().has("longest of late"));  // a shell that does not measure says nothing
  listed.app().spent(4.2, std::uint64_t{61} << 20);
  listed.app().spent(1.5, std::uint64_t{61} << 20);
  listed.shown.draw();
  const Ink ink;
  CHECK(ink.has("Frame 1.5 ms, longest of late 4.2 ms. Memory: 61.0 MiB: tree and pools"));
  CHECK(ink.has(", kept past "));
  CHECK(ink.overprinted() == std::vector<std::string>{});
}

TEST_CASE("on a phone the moments to compare can be set, and all commands are reached") {
  Listed listed(390, 844);
  App& app = listed.app();
  app.show_panel('5');
  listed.shown.draw();
  const auto press = [&](const char* words) {
    const Ink ink;
    const Ink::Line* line = ink.find(words);
    REQUIRE_MESSAGE(line, words);
    listed.shown.screen.click(app, {(line->from.x + line->to.x) / 2, (line->from.y + line->to.y) / 2});
    listed.shown.draw();
  };
  press("A: this moment");
  CHECK(app.time().a == app.time().at);
  listed.shown.script.add(0, 3);
  listed.shown.turn();
  press("B: this moment");
  CHECK(app.time().b == app.time().a + 1);
  CHECK(Ink().has("+ 1 node added"));
  app.open_commands();
  listed.shown.draw();
  CHECK(app.commands().is_open());
  CHECK(Ink().overprinted() == std::vector<std::string>{});
}

TEST_CASE("the map has a line where a segment begins, and names the segment under the mouse with its state") {
  constexpr std::uint32_t kPages = 512;
  Stage shown(1600, 900, std::uint64_t{3} * kPages);
  shown.script.push(event::PoolSized{
      .segment_pages = kPages, .pages = std::uint64_t{3} * kPages, .limit = std::uint64_t{3} * kPages});
  constexpr SegmentState kStates[] = {SegmentState::offered, SegmentState::draining, SegmentState::offered};
  for (std::uint32_t i = 0; i < 3; ++i)
    shown.script.push(event::SegmentChanged{
        .state = kStates[i], .offered = i == 1 ? 0 : kPages, .number = i, .draining = i == 1 ? 7U : 0U});
  shown.script.add(0, 10);
  shown.open();
  shown.app->show_panel('P');
  shown.draw();
  std::set<std::string> seen;
  for (float y = 40; y < 860; y += 4)
    for (const float x : {30.F, 400.F, 800.F}) {
      ImGui::GetIO().MousePos = {x, y};
      shown.screen.frame(*shown.app);
      shown.screen.frame(*shown.app);
      const std::string text = Ink().text();
      if (const std::size_t at = text.find("segment ");
          at != std::string::npos && text.compare(at, 9, "segment 0") != 0)
        seen.insert(text.substr(at, text.find('\n', at) - at));
    }
  CHECK(seen.contains("segment 1 of 3, pages 0 to 511: offered"));
  CHECK(seen.contains("segment 2 of 3, pages 512 to 1,023: draining, 7 pages in use"));
  CHECK(seen.contains("segment 3 of 3, pages 1,024 to 1,535: offered"));
}
