/// The table of panels: what it says, and that layout, keys and documents follow it.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <imgui_internal.h>
#include <shell/keys.h>
#include <shell/layout.h>
#include <views/panels.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>
#include <set>

#include "show.h"

using namespace canopy;
using namespace canopy::inspector;
using namespace canopy::test;

namespace {

/// Returns true if the panel was drawn in the last frame, and sets its size.
bool is_drawn(const PanelInfo& info, ImVec2* size = nullptr) {
  const std::string title = info.is_bar() ? fmt::format("##{}", info.title) : info.title;
  const ImGuiWindow* window = ImGui::FindWindowByName(title.c_str());
  if (!window || !window->Active) return false;
  if (size) *size = window->Size;
  return true;
}

std::ptrdiff_t panels_drawn() {
  return std::count_if(panels().begin(), panels().end(), [](const PanelInfo& info) { return is_drawn(info); });
}

std::string tab_in_front() {
  const ImGuiTabBar* bar = ImGui::GetCurrentContext()->TabBars.GetByIndex(0);
  for (const ImGuiTabItem& tab : bar->Tabs)
    if (tab.ID == bar->VisibleTabId) return bar->GetTabName(&tab);
  return {};
}

void check_areas(const std::vector<Area>& all, float width, float height, float em) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    CHECK(all[i].x >= 0);
    CHECK(all[i].y >= 0);
    CHECK(all[i].to().x <= width);
    CHECK(all[i].to().y <= height);
    CHECK(all[i].width > em * 20);
    CHECK(all[i].height >= em * 2);
    for (std::size_t k = 0; k < i; ++k) {
      const bool apart = all[i].x >= all[k].to().x || all[k].x >= all[i].to().x || all[i].y >= all[k].to().y ||
                         all[k].y >= all[i].to().y;
      CHECK_MESSAGE(apart, i, " and ", k);
    }
  }
}

/// The places of the panels, and that of the tabs once.
std::vector<Area> places(std::span<const PanelInfo> infos, const Layout& layout) {
  std::vector<Area> areas;
  bool tabs = false;
  for (std::size_t i = 0; i < infos.size(); ++i)
    if (infos[i].row != Row::page && (infos[i].row != Row::tab || !std::exchange(tabs, true)))
      areas.push_back(layout.panels[i]);
  return areas;
}

}  // namespace

TEST_CASE("every panel and tab has a title, a line of help and a key that does nothing else") {
  std::set<std::string> titles;
  std::set<char> keys;
  for (const KeyLine& line : key_lines()) {
    CHECK(line.help().size() > 3);
    for (const KeyCommand& command : line.commands) {
      if (!command.words) continue;
      CHECK((command.act != nullptr));
      CHECK((command.character == 0) != (command.named == ImGuiKey_COUNT));
      if (command.character) CHECK_MESSAGE(keys.insert(command.character).second, "two lines for ", line.keys);
    }
  }
  for (const PanelInfo& info : panels()) {
    CAPTURE(info.title);
    CHECK(titles.insert(info.title).second);
    CHECK(std::string_view(info.title).size() > 3);
    const std::string_view help = info.help;
    CHECK(help.size() > 20);
    CHECK(help.size() <= 100);  // one line of the sheet of keys
    CHECK(info.share > 0);
    if (info.is_bar()) CHECK(info.key == 0);
    else CHECK(std::isalnum(info.key));
    if (!info.is_bar()) CHECK(keys.insert(info.key).second);
    CHECK(info.make() != nullptr);
  }
  CHECK(panels().size() >= 14);
}

TEST_CASE("docs/inspector.md lists the panels and the keys as the program has them") {
  std::ifstream file(CANOPY_DOCS "/inspector.md");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  REQUIRE(text.size() > 1000);
  std::string lists = "| panel or tab | key | what it answers |\n|---|---|---|\n";
  for (const PanelInfo& info : panels()) {
    std::string name = info.title;
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char letter) { return std::tolower(letter); });
    lists += fmt::format("| {} | {} | {} |\n", name, info.key ? std::string(1, info.key) : "", info.help);
  }
  CHECK_MESSAGE(text.find(lists) != std::string::npos, "docs/inspector.md should have:\n", lists);
  lists = "| key | what it does |\n|---|---|\n";
  for (const KeyLine& line : key_lines()) {
    std::string keys = line.keys;
    for (std::size_t at; (at = keys.find("  ")) != std::string::npos;) keys.replace(at, 2, ", ");
    lists += fmt::format("| {} | {} |\n", keys, line.help());
  }
  CHECK_MESSAGE(text.find(lists) != std::string::npos, "docs/inspector.md should have:\n", lists);
}

TEST_CASE("panels share a window without overlap, from 1280 x 720 to 4K at twice the size") {
  for (const auto& [width, height, em] : {std::tuple(1280, 720, 14),
                                          {1600, 900, 14},
                                          {3840, 2160, 28},
                                          {3840, 2160, 14},
                                          {1280, 720, 11},
                                          {2560, 1080, 14}}) {
    const auto w = static_cast<float>(width), h = static_cast<float>(height), e = static_cast<float>(em);
    const Layout layout = lay_out_panels(panels(), w, h, e);
    check_areas(places(panels(), layout), w, h, e);
    CHECK(layout.rows.from().y == layout.panels[2].y);
    CHECK(layout.body.to().y <= h);
  }
}

TEST_CASE("a panel that is added to the table gets room beside the others of its row") {
  std::vector<PanelInfo> more(panels().begin(), panels().end());
  for (const Row row : {Row::top, Row::middle, Row::bottom}) {
    std::vector<PanelInfo> table = more;
    table.push_back({"ONE MORE", row, 30, 'Q', "", nullptr});
    const Layout layout = lay_out_panels(table, 3000, 1200, 14);
    check_areas(places(table, layout), 3000, 1200, 14);
    CHECK(layout.panels.back().width > 500);
  }
}

TEST_CASE("a gap that is dragged moves between its two sides alone, and never so far that one is gone") {
  const Layout own = lay_out_panels(panels(), 1600, 900, 14);
  for (std::size_t g = 0; g < own.gaps.size(); ++g) {
    const Gap& gap = own.gaps[g];
    CAPTURE(gap.before + " | " + gap.after);
    Shares shares;
    move_gap(gap, 20, 100, shares);
    const Layout moved = lay_out_panels(panels(), 1600, 900, 14, shares);
    check_areas(places(panels(), moved), 1600, 900, 14);
    REQUIRE(moved.gaps.size() == own.gaps.size());
    const auto place = [&](const Layout& layout, std::size_t i) {
      return gap.upright ? layout.gaps[i].area.x : layout.gaps[i].area.y;
    };
    CHECK(place(moved, g) == doctest::Approx(place(own, g) + 20).epsilon(0.002));
    for (std::size_t other = 0; other < own.gaps.size(); ++other)
      if (other != g && own.gaps[other].upright == gap.upright)
        CHECK(place(moved, other) == doctest::Approx(place(own, other)).epsilon(0.002));
    for (const float far : {-5000.F, 5000.F}) {
      move_gap(gap, far, 100, shares);
      const Layout end = lay_out_panels(panels(), 1600, 900, 14, shares);
      CHECK(std::min(end.gaps[g].sizes[0], end.gaps[g].sizes[1]) >= 99);
    }
  }
}

TEST_CASE("a mouse drags gaps, a double click takes that back, and one on a title lets the panel fill the window") {
  FeedScript script;
  script.add(script.add(0, 10), 30);
  App app(std::make_unique<ScriptLink>(script, script.commit()), Settings{});
  Headless screen;
  app.pump(std::chrono::milliseconds(10));
  screen.frame(app), screen.frame(app);
  const Layout own = lay_out_panels(panels(), 1600, 900, em());
  const auto middle = [](const Area& area) { return ImVec2(area.x + area.width / 2, area.y + area.height / 2); };
  const Gap& gap = *std::find_if(own.gaps.begin(), own.gaps.end(), [](const Gap& each) { return !each.upright; });
  const ImVec2 from = middle(gap.area);
  screen.drag(app, from, {from.x, from.y + 60});
  const Shares dragged = app.settings().shares;
  REQUIRE(dragged.size() == 2);
  CHECK(lay_out_panels(panels(), 1600, 900, em(), dragged).rows.height == own.rows.height);
  const auto top = [](const Gap& each) { return each.area.y; };
  const Layout now = lay_out_panels(panels(), 1600, 900, em(), dragged);
  const Gap& same = now.gaps[static_cast<std::size_t>(&gap - own.gaps.data())];
  CHECK(top(same) == doctest::Approx(top(gap) + 60).epsilon(0.01));
  // In a panel a drag is the panel's own.
  screen.drag(app, {from.x, from.y - 100}, {from.x, from.y + 100});
  CHECK(app.settings().shares == dragged);
  for (int i = 0; i < 2; ++i) screen.click(app, middle(same.area));
  CHECK(app.settings().shares.empty());

  const auto all = panels_drawn();
  const Area& tree = own.panels[2];
  for (int i = 0; i < 2; ++i) screen.click(app, {tree.x + em(), tree.y + em()});
  screen.frame(app);
  CHECK(panels_drawn() < all);
  screen.press(app, ImGuiKey_Escape);
  screen.frame(app);
  CHECK(panels_drawn() == all);
}

TEST_CASE("a panel's key lets it fill the window until its key again or Esc, and a tab's key brings it to the front") {
  FeedScript script;
  script.add(script.add(0, 10), 30);
  App app(std::make_unique<ScriptLink>(script, script.commit()), Settings{});
  Headless screen;
  app.pump(std::chrono::milliseconds(10));
  screen.frame(app);
  const auto all = panels_drawn();
  CHECK(all == std::count_if(panels().begin(), panels().end(),
                             [](const PanelInfo& i) { return i.row != Row::tab && i.row != Row::page; }));
  const auto bars = std::count_if(panels().begin(), panels().end(), [](const PanelInfo& i) { return i.is_bar(); });
  for (const PanelInfo& info : panels()) {
    if (info.key == 0) continue;
    CAPTURE(info.title);
    screen.key(app, info.key);
    screen.frame(app);
    if (info.row == Row::tab) {
      CHECK(tab_in_front() == info.title);
      continue;
    }
    ImVec2 size;
    REQUIRE(is_drawn(info, &size));
    CHECK(size.x > 1580);
    CHECK(size.y > 600);
    CHECK(panels_drawn() == bars + 1);
    if (info.row == Row::top) screen.press(app, ImGuiKey_Escape);
    else screen.key(app, info.key);
    screen.frame(app);
    CHECK(panels_drawn() == all);
  }
  // A search is in the tree: it gives the window back, or nothing would be seen of it.
  screen.key(app, 'P');
  screen.key(app, '/');
  screen.frame(app);
  CHECK(panels_drawn() == all);
}
