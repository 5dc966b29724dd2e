/// All texts can be read: at every size, in every state.
#include <canopy/feed/events.h>
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <mirror/clean_text.h>
#include <views/panels.h>

#include "ink.h"
#include "show.h"

using namespace canopy;
using namespace canopy::inspector;
using namespace canopy::test;

namespace {

void busy(Stage& shown) {
  for (std::uint32_t i = 0; i < 12; ++i) shown.script.name_space(i, fmt::format("tenant-{}-of-a-long-name", i));
  for (const char* name : {"lru", "lfu", "slru", "clock", "tlru"})
    shown.script.say(TextKind::plugin, 0, std::string("canopy.EvictionStrategy/1\t") + name + "\ta policy\tx.so");
  for (std::uint32_t i = 0; i < 12; ++i) shown.script.add(0, 100 + i, i, 1234 * i, i);
  shown.open();
  shown.app->offer_exports([](const std::string&, const std::string&) { return std::string(); });
  const auto node = shown.script.add(0, 40, 1, 123'456, 7);
  shown.script.lock(node, 11);
  for (std::uint64_t id = 999'990; id < 1'000'010; ++id) shown.script.begin_request(id, 123'456, 1'216, 3, 1);
  shown.turn();
  shown.app->selection().select_node(node);
  shown.draw();
}

}  // namespace

TEST_CASE("no words are printed over others or cut at a side, from the least window on") {
  for (const auto& [width, height] : {std::pair(960.F, 600.F),
                                      {1024.F, 640.F},
                                      {1280.F, 720.F},
                                      {1600.F, 900.F},
                                      {1920.F, 1080.F},
                                      {2560.F, 1080.F}}) {
    Stage shown(width, height);
    busy(shown);
    for (const char tab : {'1', '2', '8', '9', 'P', 'L'}) {
      CAPTURE(width);
      CAPTURE(tab);
      shown.screen.key(*shown.app, tab);
      shown.draw();
      const Ink ink;
      CHECK(ink.overprinted() == std::vector<std::string>{});
      CHECK(ink.cut() == std::vector<std::string>{});
      for (const char* words : {"hit rate", "request p50 / p99", "evictable", "CONTROLS", "LOCKS", "drift 0", "live"})
        CHECK_MESSAGE(ink.has(words), words);
    }
    for (const char page : {'3', '4', '5', '6', '7', 'M', 'S', 'R'}) {
      CAPTURE(width);
      CAPTURE(page);
      shown.screen.key(*shown.app, page);
      shown.draw();
      const Ink ink;
      CHECK(ink.overprinted() == std::vector<std::string>{});
      CHECK(ink.cut() == std::vector<std::string>{});
      shown.screen.key(*shown.app, page);
    }
  }
}

TEST_CASE(
    "on a small display one panel fills the window, a list leads to the others, and what is printed can be read") {
  for (const auto& [width, height] : {std::pair(390.F, 844.F), {360.F, 640.F}, {844.F, 390.F}, {780.F, 900.F}}) {
    Stage shown(width, height);
    busy(shown);
    CAPTURE(width);
    CHECK(shown.app->full_window() == 'T');
    for (const PanelInfo& panel : panels()) {
      if (panel.is_bar()) continue;
      CAPTURE(panel.title);
      shown.app->fill_window(panel.key);
      shown.draw();
      CHECK(shown.app->full_window() == panel.key);
      const Ink ink;
      CHECK(ink.has(panel.title));
      CHECK(ink.has("hit rate"));
      CHECK(ink.overprinted() == std::vector<std::string>{});
      CHECK_MESSAGE(ink.cut().empty(), fmt::format("{}", fmt::join(ink.cut(), " | ")));
    }
    // The list's arrows lead through all of them, and Esc back to the tree.
    shown.screen.press(*shown.app, ImGuiKey_Escape);
    shown.draw();
    CHECK(shown.app->full_window() == 'T');
    const Ink ink;
    const Ink::Line* next = ink.find(">");
    REQUIRE(next);
    for (const char key : {'S', 'M', 'R'}) {
      shown.screen.click(*shown.app, {(next->from.x + next->to.x) / 2, (next->from.y + next->to.y) / 2});
      shown.draw();
      CHECK(shown.app->full_window() == key);
    }
  }
}

TEST_CASE("Ctrl C copies the text of the panel under the mouse, row by row") {
  Stage shown;
  busy(shown);
  const auto copied = [&](const char* title) {
    const Ink::Line* line = nullptr;
    const Ink ink;
    line = ink.find(title);
    REQUIRE(line);
    ImGui::GetIO().MousePos = {line->from.x + 2, line->from.y + 2};
    shown.draw();
    ImGui::GetIO().KeyCtrl = true;
    shown.screen.press(*shown.app, ImGuiKey_C);
    ImGui::GetIO().KeyCtrl = false;
    shown.app->copy_wanted_text();
    return std::string(ImGui::GetClipboardText());
  };
  const std::string requests = copied("REQUESTS");
  CHECK(requests.starts_with("REQUESTS"));
  CHECK(requests.find("\nid\tnamespace\tprompt\thit") != std::string::npos);
  CHECK(requests.find("\n1000009\t") != std::string::npos);
  CHECK(requests.find("TREE") == std::string::npos);
  shown.draw();
  CHECK(Ink().has("copied REQUESTS"));
  const std::string health = copied("request p50");
  CHECK(health.find("hit rate") != std::string::npos);
  CHECK(health.find("evictable") != std::string::npos);
  CHECK(health.find("REQUESTS") == std::string::npos);
  // Without the key nothing is copied.
  ImGui::SetClipboardText("as before");
  shown.draw();
  shown.app->copy_wanted_text();
  CHECK(std::string(ImGui::GetClipboardText()) == "as before");
}

TEST_CASE("no figure of the health bar moves another one") {
  Stage shown;
  shown.script.add(0, 10);
  shown.open();
  const auto places = [] {
    std::vector<float> all;
    const Ink ink;
    for (const char* words : {"evicted", "requests", "request p50 / p99", "free", "protected", "owned"})
      for (const Ink::Line& line : ink.lines())
        if (line.from.y < 90 && line.from.y > 34 && line.text.starts_with(words)) {
          all.push_back(line.from.x);
          break;
        }
    return all;
  };
  const auto before = places();
  CHECK(before.size() == 6);
  for (int i = 0; i < 40; ++i) {
    shown.script.begin_request(static_cast<std::uint64_t>(i) + 1, 1000, 16, 1);
    shown.turn();
    CHECK(places() == before);
  }
}

TEST_CASE("what a feed calls things never leaves its place, whatever bytes it has") {
  CHECK(clean_text("acme / lora-7") == "acme / lora-7");
  CHECK(clean_text("a\nb\tc\x1b[31m\x7f") == "a?b?c?[31m?");
  CHECK(clean_text("a\nb\tc", "\n") == "a\nb?c");
  CHECK(clean_text("h\u00e9 \u4e2d \U0001F600") == "h\u00e9 \u4e2d \U0001F600");
  CHECK(clean_text("x\u202ey\u2066z\u0085") == "x?y?z?");
  CHECK(clean_text("\xff\xc0\xaf\xed\xa0\x80\xe4\xb8") == "????????");
  CHECK(clean_text(std::string("a\0b", 3)) == "a?b");

  Stage shown;
  shown.script.name_space(0, "two\nlines\r\n\n\nand more");
  shown.script.say(TextKind::group, 0, "full\nempty");
  shown.script.say(TextKind::policy, 0, "lru\n\n\nlfu");
  shown.script.say(TextKind::paused, 0, "because\nof\nthis");
  const auto node = shown.script.add(0, 10);
  shown.script.begin_request(1, 100, 0);
  shown.open();
  shown.app->selection().select_node(node);
  shown.draw();
  for (const char tab : {'1', '2'}) {
    shown.screen.key(*shown.app, tab);
    shown.draw();
    const Ink ink;
    CHECK(ink.overprinted() == std::vector<std::string>{});
    CHECK(ink.has("two?lines???"));
  }
}

TEST_CASE("namespaces have 24 colours, the legend shows none twice, and no state has the colour of what is chosen") {
  for (const Palette* colours : {&dark_palette(), &light_palette()}) {
    use_palette(*colours);
    std::vector<ImU32> used;
    for (std::uint32_t s = 0; s < 24; ++s) {
      const ImU32 colour = colours->of(NamespaceId{s});
      CHECK(std::find(used.begin(), used.end(), colour) == used.end());
      used.push_back(colour);
    }
    for (const ImU32 state : {colours->evictable, colours->protected_, colours->owned, colours->tombstone}) {
      CHECK(state != colours->accent);
      CHECK(state != colours->warn);
    }
  }
  use_palette(dark_palette());
}

TEST_CASE("a reader that came late says so in the chip, in the column and in the sentence") {
  Stage shown;
  for (int i = 0; i < 3; ++i) shown.script.skip();  // operations before it came
  shown.script.add(0, 10);
  shown.open();
  shown.script.begin_request(7, 320, 0);
  shown.turn(Operation::begin);
  shown.script.add(0, 20);
  shown.script.commit_request(7, 320);
  shown.turn();
  const MirrorRequest* request = shown.app->mirror().request(7);
  REQUIRE(request);
  CHECK(request->miss == Miss::before_attach);
  shown.app->selection().select_request(*request);
  shown.draw();
  const Ink ink;
  CHECK(ink.has("not known: before attaching 9"));  // the chip, with its share
  std::size_t times = 0;
  for (const Ink::Line& line : ink.lines())
    times += line.text.find("not known: before attaching.") != std::string::npos;
  CHECK(times >= 2);  // the sentence and the column
  CHECK_FALSE(ink.has("never seen"));
}
