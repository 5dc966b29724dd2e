#include <canopy/base/figures.h>
#include <fmt/format.h>

#include <algorithm>

#include "draw.h"
#include "panels.h"
#include "timeline_tracks.h"

namespace canopy::inspector {
namespace {

/// Places on the line of time, which is always the whole time.
struct BarArea {
  const TimeAxis& axis;
  ImVec2 from, size;
  float x_of(double value) const {
    const double all = axis.last() - axis.first();
    return from.x + size.x * static_cast<float>(all > 0 ? std::clamp((value - axis.first()) / all, 0.0, 1.0) : 0.0);
  }
  TimeScale scale() const { return {axis.first(), axis.last(), from.x, from.x + size.x}; }
  float x_of(std::uint64_t commit) const { return x_of(axis.value_of(commit)); }
  std::uint64_t commit_at(float x) const {
    const double share = std::clamp(static_cast<double>((x - from.x) / size.x), 0.0, 1.0);
    return axis.commit_at(axis.first() + share * (axis.last() - axis.first()));
  }
};

/// Draws the hit rate upwards and evictions downwards, over the whole time.
void draw_overview(const std::vector<TimeColumn>& columns, const BarArea& line) {
  const Palette& colours = palette();
  const float middle = line.from.y + line.size.y / 2, tall = line.size.y / 2;
  std::vector<double> densities;
  for (const TimeColumn& column : columns) densities.push_back(column.density(column.counts[Count::evicted]));
  const double most = usual_most(std::move(densities));
  for (const TimeColumn& column : columns) {
    const ColumnPieces rate(line.scale(), column, InIdle::faint), count(line.scale(), column, InIdle::nothing);
    if (const std::uint64_t prompt = column.counts[Count::prompt]; prompt > 0) {
      const float share = static_cast<float>(column.counts[Count::hit]) / static_cast<float>(prompt);
      rate.fill(middle - share * tall, middle, with_alpha(colours.good, 0.7F));
    }
    if (const double evicted = column.density(column.counts[Count::evicted]); evicted > 0)
      count.fill(middle, middle + std::max(1.F, static_cast<float>(std::min(1.0, evicted / most)) * tall),
                 with_alpha(colours.bad, 0.8F));
  }
}

/// Draws the range and the part of the time that the timeline shows.
void draw_windows(const Timeline& time, const BarArea& line) {
  const Palette& colours = palette();
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float top = line.from.y, bottom = line.from.y + line.size.y;
  if (!time.range.empty())
    list->AddRectFilled({line.x_of(time.range.first - 1), top},
                        {std::max(line.x_of(time.range.last), line.x_of(time.range.first - 1) + 2), bottom},
                        with_alpha(colours.accent, 0.35F));
  if (time.to > time.from)
    list->AddRect({line.x_of(time.from), top}, {std::max(line.x_of(time.to), line.x_of(time.from) + 3), bottom},
                  colours.text);
}

void draw_marks_on(const Timeline& time, const BarArea& line) {
  const Palette& colours = palette();
  ImDrawList* list = ImGui::GetWindowDrawList();
  const ImVec2 from = line.from, size = line.size;
  const float middle = from.y + size.y / 2;
  for (const Note& note : time.notes.all()) {
    const float x = line.x_of(note.commit);
    list->AddTriangleFilled({x - em() * 0.3F, from.y}, {x + em() * 0.3F, from.y}, {x, middle}, colours.warn);
  }
  for (const auto& [commit, name] : {std::pair(time.a, "A"), std::pair(time.b, "B")})
    if (commit != 0) {
      const float x = line.x_of(commit);
      list->AddLine({x, from.y}, {x, from.y + size.y}, colours.text);
      const ImVec2 letter{x + em() * 0.2F, from.y};
      const ImVec2 size_of_letter = ImGui::CalcTextSize(name);
      list->AddRectFilled(letter, {letter.x + size_of_letter.x, letter.y + size_of_letter.y}, colours.panel);
      list->AddText(letter, colours.text, name);
    }
}

/// Returns what a live feed keeps for going back, in words.
std::string kept_words(const Timeline& time, const TimeAxis& axis) {
  if (!time.seekable) return "Nothing before this moment is kept.";
  return fmt::format("Kept for going back: the last {}, in {} of at most {}.",
                     axis.length_words(axis.last() - axis.value_of(time.first)), bytes(time.kept_bytes),
                     bytes(time.most_kept_bytes));
}

/// Handles a click or a drag on the line.
void follow_mouse(Timeline& time, const BarArea& line) {
  const std::uint64_t under = std::max(line.commit_at(ImGui::GetIO().MousePos.x), time.first);
  if (ImGui::IsItemActive() && time.seekable) time.seek(under);
  if (!ImGui::IsItemHovered()) return;
  if (!time.live) return explain(fmt::format("commit {} of {}", grouped(under), grouped(time.end)));
  explain(
      fmt::format("Hit rate upwards, evictions downwards, since the engine began or the inspector attached. A "
                  "click shows an earlier moment. {} A recording (feed: {{ file: ... }}) keeps everything.",
                  kept_words(time, line.axis)));
}

/// Draws over the part of a live feed's past that is no longer kept.
void draw_not_kept(const Timeline& time, const BarArea& line) {
  if (!time.live) return;
  const float x = time.seekable ? line.x_of(time.first) : line.x_of(time.end);
  ImGui::GetWindowDrawList()->AddRectFilled(line.from, {x, line.from.y + line.size.y},
                                            with_alpha(palette().panel, 0.6F));
}

/// Draws the playhead, unless it follows a live feed.
void draw_playhead(const Timeline& time, const BarArea& line) {
  if (!time.seekable || time.follows()) return;
  const Palette& colours = palette();
  ImDrawList* list = ImGui::GetWindowDrawList();
  const ImVec2 from = line.from, size = line.size;
  const float x = line.x_of(time.at), middle = from.y + size.y / 2;
  list->AddRectFilled({x, from.y}, {from.x + size.x, from.y + size.y}, with_alpha(colours.panel, 0.55F));
  list->AddLine({x, from.y}, {x, from.y + size.y}, colours.accent, em() * 0.14F);
  list->AddCircleFilled({x, middle}, em() * 0.38F, colours.accent);
}

void apart() { ImGui::SameLine(0, em() * 0.4F); }

void draw_player(Timeline& time) {
  if (button("|<")) time.seek(0);
  explain("to the beginning (Home)");
  apart();
  if (button("<", time.at > time.first)) time.seek(time.at - 1);
  explain("one commit back (left)");
  apart();
  if (button(time.playing ? "||" : " > ")) time.playing = !time.playing;
  explain("play or pause (space)");
  apart();
  if (button(">", time.at < time.end)) time.seek(time.at + 1);
  explain("one commit forward (right)");
  apart();
  if (button(">|")) time.seek(time.end);
  explain("to the end (End)");
  apart();
  if (button(fmt::format("{:g} x", static_cast<double>(time.speed)).c_str()))
    time.speed = time.speed >= 16 ? 0.25F : time.speed * 4;
  explain("playback speed, relative to the recorded time");
}

/// Draws the buttons of a live feed.
void draw_live_player(Scene& scene) {
  Timeline& time = scene.time;
  if (button("<", time.seekable && time.at > time.first)) time.seek(time.at - 1);
  explain("one commit back (left): shows the past, while the feed is read on");
  apart();
  if (!time.held) {
    if (button(scene.mailbox.paused ? "go on" : "pause")) scene.selection.pause_wanted = true;
    explain(scene.mailbox.obeyed() ? "pauses the engine (space); the right arrow runs one step"
                                   : "holds this moment, not the engine (space): the feed is read on");
    return;
  }
  if (button(">")) time.seek(time.at + 1);
  explain("one commit forward (right)");
  apart();
  if (button("now")) time.seek(time.end);
  explain("back to the present (space, End)");
}

void draw_marks(Scene& scene) {
  Timeline& time = scene.time;
  if (button("A")) time.remember(scene.pools, true);
  explain("remembers this moment, to compare it with B");
  apart();
  if (button("B")) time.remember(scene.pools, false);
  explain("remembers this moment, to compare it with A");
  if (!time.seekable) return;
  apart();
  if (button("note")) scene.selection.naming = time.at;
  explain("marks this moment and asks for a name (m); n goes to the next note; NOTES (K) lists them");
}

class TimeBar final : public Panel {
 public:
  void draw(Scene& scene) override {
    const bool gone = scene.session.state == Session::State::gone && !scene.time.held;
    // The line has the full height of the bar; everything else is centred vertically.
    const float top = ImGui::GetCursorPosY();
    const float low = top + (ImGui::GetContentRegionAvail().y - ImGui::GetTextLineHeight()) / 2;
    ImGui::SetCursorPosY(low);
    if (scene.time.live) draw_live_player(scene);
    else draw_player(scene.time);
    ImGui::SameLine(0, em());
    const std::string end = words(scene, gone);
    const bool small = ImGui::GetContentRegionAvail().x < em() * 32;  // no room for words and marks
    if (small && scene.time.seekable && !gone) {
      ImGui::SetCursorPosY(top);
      return draw_line(scene, ImGui::GetContentRegionAvail());
    }
    const float buttons = em() * (scene.time.seekable ? 12.F : 6.F), letters = ImGui::CalcTextSize(end.c_str()).x;
    const float width = ImGui::GetContentRegionAvail().x - letters - buttons - em() * 2;
    if (width > em() * 4) {
      ImGui::SetCursorPosY(top);
      draw_line(scene, {width, ImGui::GetContentRegionAvail().y});
      ImGui::SameLine(0, em());
      ImGui::SetCursorPosY(low);
    }
    const float room = ImGui::GetContentRegionAvail().x - buttons;
    text(fitted(end, room), gone ? palette().bad : palette().dim);
    explain(end);
    ImGui::SameLine(0, em());
    ImGui::SetCursorPosY(low);
    draw_marks(scene);
  }

 private:
  static std::string words(const Scene& scene, bool gone) {
    if (gone && scene.session.server_gone) return scene.session.detail + "; trying again";
    if (gone)
      return scene.session.detail + (scene.session.waits_for_again
                                         ? fmt::format("; waiting for '{}' to start again", scene.session.name)
                                         : "");
    if (const Exports& exports = scene.selection.exports; ImGui::GetTime() < exports.until) return exports.result;
    if (!scene.time.follows()) return fmt::format("commit {} of {}", grouped(scene.time.at), grouped(scene.time.end));
    return fmt::format("commit {}   {} since the engine began", grouped(scene.mirror.commits()),
                       duration(static_cast<double>(scene.mirror.us()) / 1e6));
  }

  void draw_line(Scene& scene, ImVec2 size) {
    const ImVec2 from = ImGui::GetCursorScreenPos();
    ImGui::InvisibleButton("line of time", size);
    const History& history = scene.time.history;
    const TimeAxis axis = scene.time.axis();
    const BarArea line{axis, from, size};
    ImGui::GetWindowDrawList()->AddRectFilled({from.x, from.y + size.y / 2}, {from.x + size.x, from.y + size.y / 2 + 1},
                                              palette().line);
    const auto most = static_cast<std::size_t>(std::max(1.F, size.x / std::max(2.F, em() / 7)));
    if (known_ != history.commits() || most_ != most || by_ != scene.time.axis_by) {
      columns_ = columns_of(history, axis, axis.first(), axis.last(), most);
      known_ = history.commits(), most_ = most, by_ = scene.time.axis_by;
    }
    draw_overview(columns_, line);
    draw_doubtful_time(scene.time, axis, line.scale(), from.y, from.y + size.y);
    draw_windows(scene.time, line);
    draw_not_kept(scene.time, line);
    follow_mouse(scene.time, line);
    draw_playhead(scene.time, line);
    draw_marks_on(scene.time, line);
  }

  std::uint64_t known_ = ~std::uint64_t{0};
  std::size_t most_ = 0;
  AxisBy by_ = AxisBy::clock;
  std::vector<TimeColumn> columns_;
};

}  // namespace

PanelInfo time_bar() {
  return {
      .title = "TIME BAR",
      .row = Row::time,
      .help = "Move in time: anywhere in a recording, one commit back or forward; pause a live engine",
      .make = make_panel<TimeBar>,
  };
}

}  // namespace canopy::inspector
