#include <canopy/support/figures.h>
#include <fmt/format.h>

#include <algorithm>

#include "draw.h"
#include "panels.h"

namespace canopy::inspector {
namespace {

void remember(Timeline& time, const Mirror& mirror, bool first) {
  (first ? time.a : time.b) = mirror.commits();
  (first ? time.moment_a : time.moment_b) = mirror.moment();
  if (time.a != 0 && time.b != 0) time.difference = Mirror::difference(time.moment_a, time.moment_b);
}

void draw_line(Scene& scene, ImVec2 size) {
  const Palette& colours = palette();
  Timeline& time = scene.time;
  const ImVec2 from = ImGui::GetCursorScreenPos();
  ImGui::InvisibleButton("line of time", size);
  ImDrawList* list = ImGui::GetWindowDrawList();
  const auto x_of = [&](std::uint64_t commit) {
    return from.x + size.x * static_cast<float>(commit) / static_cast<float>(std::max<std::uint64_t>(time.end, 1));
  };
  const float middle = from.y + size.y / 2, thick = em() * 0.22F;
  list->AddRectFilled({from.x, middle - thick / 2}, {from.x + size.x, middle + thick / 2}, colours.line, thick);
  list->AddRectFilled({from.x, middle - thick / 2}, {x_of(time.at), middle + thick / 2}, colours.accent, thick);
  for (const std::uint64_t mark : time.bookmarks)
    list->AddTriangleFilled({x_of(mark) - em() * 0.3F, from.y}, {x_of(mark) + em() * 0.3F, from.y},
                            {x_of(mark), middle}, colours.warn);
  for (const auto& [commit, name] : {std::pair(time.a, "A"), std::pair(time.b, "B")})
    if (commit != 0) {
      list->AddLine({x_of(commit), from.y}, {x_of(commit), from.y + size.y}, colours.good);
      const ImVec2 letter{x_of(commit) + em() * 0.2F, from.y};
      const ImVec2 size_of_letter = ImGui::CalcTextSize(name);
      list->AddRectFilled(letter, {letter.x + size_of_letter.x, letter.y + size_of_letter.y}, colours.panel);
      list->AddText(letter, colours.good, name);
    }
  list->AddCircleFilled({x_of(time.at), middle}, em() * 0.42F, colours.accent);
  if (!time.seekable) return;
  const auto under = static_cast<std::uint64_t>(std::clamp((ImGui::GetIO().MousePos.x - from.x) / size.x, 0.F, 1.F) *
                                                static_cast<float>(time.end));
  if (ImGui::IsItemActive()) time.seek(under);
  if (ImGui::IsItemHovered()) explain(fmt::format("commit {} of {}", grouped(under), grouped(time.end)));
}

void apart() { ImGui::SameLine(0, em() * 0.4F); }

void draw_player(Timeline& time) {
  if (button("|<")) time.seek(0);
  explain("to the beginning (Home)");
  apart();
  if (button("<", time.at > Timeline::kFirst)) time.seek(time.at - 1);
  explain("a commit back (left)");
  apart();
  if (button(time.playing ? "||" : " > ")) time.playing = !time.playing;
  explain("play or pause (space)");
  apart();
  if (button(">", time.at < time.end)) time.seek(time.at + 1);
  explain("a commit on (right)");
  apart();
  if (button(">|")) time.seek(time.end);
  explain("to the end (End)");
  apart();
  if (button(fmt::format("{:g} x", static_cast<double>(time.speed)).c_str()))
    time.speed = time.speed >= 16 ? 0.25F : time.speed * 4;
  explain("how fast it plays, of the time it was recorded in");
}

void draw_pause(Scene& scene) {
  const bool stopped = scene.session.state == Session::State::stopped || scene.mailbox.paused;
  if (button(stopped ? "go on" : "pause")) scene.selection.pause_wanted = true;
  explain(scene.mailbox.obeyed() ? "pauses the engine (space); the right arrow lets it do one step"
                                 : "stops the picture, not the engine (space): no command is sent to this one");
}

void draw_marks(Scene& scene) {
  Timeline& time = scene.time;
  if (button("A")) remember(time, scene.mirror, true);
  explain("remembers this moment, to compare it with B");
  apart();
  if (button("B")) remember(time, scene.mirror, false);
  explain("remembers this moment, to compare it with A");
  if (!time.seekable) return;
  apart();
  if (button("bookmark")) {
    const auto found = std::find(time.bookmarks.begin(), time.bookmarks.end(), time.at);
    if (found == time.bookmarks.end()) time.bookmarks.push_back(time.at);
    else time.bookmarks.erase(found);
  }
  explain("marks this moment on the line, or takes its mark away (m); n goes to the next one");
}

class TimeBar final : public Panel {
 public:
  void draw(Scene& scene) override {
    const Timeline& time = scene.time;
    if (time.seekable) draw_player(scene.time);
    else draw_pause(scene);
    ImGui::SameLine(0, em());
    const std::string end = time.seekable
                                ? fmt::format("commit {} of {}", grouped(time.at), grouped(time.end))
                                : fmt::format("commit {}   {} since the engine began", grouped(scene.mirror.commits()),
                                              duration(static_cast<double>(scene.mirror.us()) / 1e6));
    const float buttons = em() * (time.seekable ? 12.F : 6.F), words = ImGui::CalcTextSize(end.c_str()).x;
    const float width = ImGui::GetContentRegionAvail().x - words - buttons - em() * 2;
    if (width > em() * 4) {
      draw_line(scene, {width, ImGui::GetTextLineHeight()});
      ImGui::SameLine(0, em());
    }
    dim(end);
    ImGui::SameLine(0, em());
    draw_marks(scene);
  }
};

}  // namespace

PanelInfo time_bar() {
  return {
      .title = "TIME BAR",
      .row = Row::time,
      .help = "When: anywhere in a recording, a commit back or on; pause a live engine",
      .make = make_panel<TimeBar>,
  };
}

}  // namespace canopy::inspector
