#include <canopy/base/figures.h>
#include <fmt/format.h>
#include <mirror/clean_text.h>
#include <mirror/feed_lines.h>

#include <algorithm>

#include "draw.h"
#include "panels.h"

namespace canopy::inspector {
namespace {

struct Light {
  std::string word;
  ImU32 colour;
};

Light light_of(const Scene& scene) {
  const Palette& colours = palette();
  switch (scene.session.state) {
    case Session::State::choosing:
      return {"no feed yet", colours.warn};
    case Session::State::attaching:
      return {"attaching", colours.warn};
    case Session::State::gone:
      return {scene.session.server_gone ? "server gone" : "engine gone", colours.bad};
    case Session::State::recording:
      return {scene.time.playing ? "playing" : "recording", colours.accent};
    case Session::State::live:
      break;
  }
  if (!scene.mirror.in_step()) return {"catching up", colours.warn};
  if (scene.mailbox.paused) return {"engine paused", colours.warn};
  const auto& servers = scene.mirror.workers();
  if (const std::size_t lost = servers_lost(servers))
    return {plural(lost, "server") + " gone", lost == servers.size() ? colours.bad : colours.warn};
  return {"live", colours.good};
}

void draw_line() {
  ImGui::SameLine(0, em());
  text("|", palette().line);
  ImGui::SameLine(0, em());
}

/// Returns the pixels at the right that the light and the buttons occupy.
float right_of(const char* light) { return ImGui::CalcTextSize(light).x + em() * 8.5F; }

/// Returns true if there is room for everything; otherwise only the most important items are drawn.
bool is_wide() { return ImGui::GetWindowWidth() > em() * 85; }
/// Returns true if there is room only for the name, the light and what is wrong.
bool is_small_header() { return ImGui::GetWindowWidth() < em() * 59; }

void draw_source(const Session& session) {
  draw_line();
  const std::string name = clean_text(session.name);
  text(fitted(name, std::min(em() * 18, ImGui::GetWindowWidth() * (is_small_header() ? 0.25F : 0.2F))));
  explain(name);
  if (!is_wide()) return;
  ImGui::SameLine();
  dim(fmt::format("({})", session.source));
}

void draw_moment(const Mirror& mirror) {
  draw_line();
  if (is_wide()) {
    dim("tick");
    ImGui::SameLine();
  }
  text(grouped(mirror.tick()));
  explain("The engine's logical clock. No decision reads a wall clock.");
  draw_line();
  const auto spaces = std::count_if(mirror.spaces().begin(), mirror.spaces().end(),
                                    [](const Mirror::Space& space) { return space.nodes != 0; });
  text(fmt::format("{} in {}", plural(mirror.node_count(), "node"),
                   plural(static_cast<std::uint64_t>(spaces), "namespace")));
  if (!is_wide()) return;
  ImGui::SameLine();
  dim(fmt::format("page {}", mirror.page_size()));
}

void draw_groups(Scene& scene) {
  draw_line();
  for (std::size_t g = 0; g < scene.mirror.groups(); ++g) {
    const MirrorPool& pool = scene.mirror.pool(g);
    if (g != 0) ImGui::SameLine();
    const std::string words = pool.policy.empty() ? pool.name : fmt::format("{}: {}", pool.name, pool.policy);
    // Groups without room here are reached with the key g.
    if (g != 0 && ImGui::GetCursorPosX() + ImGui::CalcTextSize(words.c_str()).x + em() * 7 >
                      ImGui::GetWindowWidth() - right_of("engine paused"))
      return dim("…");
    if (scene.mirror.groups() == 1) text(words);
    else if (choice(words.c_str(), g == scene.selection.group)) scene.selection.group = g;
    explain(pool.reach == kWholePath ? "A KV cache group and its eviction policy. Its whole path must be resident."
                                     : fmt::format("A KV cache group and its eviction policy. A prefix is reusable "
                                                   "while its last {} tokens are resident.",
                                                   grouped(pool.reach)));
  }
}

/// Draws the figures that show how far the picture can be trusted.
void draw_trust(const Scene& scene) {
  if (const Doubts doubts = scene.doubts(); !doubts.empty()) {
    draw_line();
    text(plural(doubts.size(), "doubt"), palette().bad);
    explain("The figures may not be those of the engine:\n" +
            fmt::format("{}", fmt::join(sentences_of(doubts), ";\n")) + ".");
  }
  if (is_small_header() && scene.mirror.drift() == 0) return;
  draw_line();
  if (scene.mirror.drift() == 0) dim("drift 0");
  else text(fmt::format("drift {}", plural(scene.mirror.drift(), "page")), palette().bad);
  explain(
      "Pages by which the picture's own count differs from the totals that the engine sends. Anything but 0 is a "
      "fault, in the engine or in the inspector.");
  if (is_small_header()) return;
  if (scene.session.again != 0) {
    draw_line();
    text(fmt::format("attached again {} x", grouped(scene.session.again)), palette().warn);
    explain("The engine ended, and another with the same name started: the picture shows the new one.");
  }
  if (scene.session.laps == 0) return;
  draw_line();
  text(fmt::format("lapped {} x", grouped(scene.session.laps)), palette().warn);
  explain(
      "Times that events arrived faster than they were read. The engine then sent its whole state again; history "
      "before the last time is lost.");
}

/// Returns how long before the present the shown moment is.
std::string ago(const Scene& scene) {
  const Timeline& time = scene.time;
  const std::uint64_t now = time.history.last().us, then = scene.pools.us();
  if (now > then) return duration(static_cast<double>(now - then) / 1e6) + " ago";
  return time.at == time.end ? "held" : plural(time.end - time.at, "commit") + " ago";
}

/// Draws the sign that an earlier moment of a living engine is shown, and the way back.
void draw_past(Scene& scene) {
  const Palette& colours = palette();
  const ImVec2 from = ImGui::GetWindowPos(), size = ImGui::GetWindowSize();
  const float thick = std::max(2.F, em() * 0.16F);
  ImGui::GetWindowDrawList()->AddRectFilled({from.x, from.y + size.y - thick}, {from.x + size.x, from.y + size.y},
                                            colours.warn);
  const std::string words = is_small_header() ? ago(scene) + ": now" : fmt::format("PAST: {}. Back to now", ago(scene));
  ImGui::SameLine(ImGui::GetWindowWidth() - ImGui::CalcTextSize(words.c_str()).x -
                  em() * (is_small_header() ? 4.4F : 7.2F));
  ImGui::PushStyleColor(ImGuiCol_Button, colours.warn);
  ImGui::PushStyleColor(ImGuiCol_ButtonHovered, mixed(colours.warn, colours.text, 0.3F));
  ImGui::PushStyleColor(ImGuiCol_Text, colours.background);
  if (ImGui::SmallButton(words.c_str())) scene.time.seek(scene.time.end);
  ImGui::PopStyleColor(3);
  explain(
      fmt::format("Every panel shows commit {} of {}. The feed is read on meanwhile, and the timeline shows all of "
                  "it. Click, space or End: back to the present.{}",
                  grouped(scene.time.at), grouped(scene.time.end),
                  scene.session.state == Session::State::gone ? " " + scene.session.detail + "." : ""));
}

void draw_light(Scene& scene) {
  if (scene.time.held) return draw_past(scene);
  const Light light = light_of(scene);
  const float width = ImGui::CalcTextSize(light.word.c_str()).x + em() * 1.3F;
  ImGui::SameLine(ImGui::GetWindowWidth() - width - em() * (is_small_header() ? 4.4F : 6.6F));
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImGui::GetWindowDrawList()->AddCircleFilled(
      {at.x + em() * 0.4F, at.y + ImGui::GetStyle().FramePadding.y + em() * 0.55F}, em() * 0.3F, light.colour);
  ImGui::SetCursorScreenPos({at.x + em(), at.y});
  text(light.word, light.colour);
  for (const std::string& line : scene.mirror.workers())
    if (const WorkerLine server(line); !server.lost.empty()) {
      explain(fmt::format("{}: {}. SERVERS (6) has all.", server.name, server.lost));
      break;
    }
  if (!scene.session.detail.empty()) explain(scene.session.detail + ".");
  if (scene.mailbox.paused && !scene.mirror.paused().empty()) explain("Paused: " + scene.mirror.paused() + ".");
}

class HeaderBar final : public Panel {
 public:
  void draw(Scene& scene) override {
    ImGui::AlignTextToFramePadding();
    text("canopy", palette().accent);
    if (!scene.session.name.empty()) draw_source(scene.session);
    if (scene.mirror.in_step()) {
      if (!is_small_header()) draw_moment(scene.mirror), draw_groups(scene);
      draw_trust(scene);
    }
    draw_light(scene);
    ImGui::SameLine(ImGui::GetWindowWidth() - em() * (is_small_header() ? 3.2F : 5.4F));
    if (ImGui::SmallButton("open")) scene.selection.choose_wanted = true;
    explain("Another feed, or a recording (o).");
    if (is_small_header()) return;  // no room for the sheet of keys, and usually no keyboard
    ImGui::SameLine(ImGui::GetWindowWidth() - em() * 2.2F);
    if (ImGui::SmallButton(" ? ")) scene.selection.help = true;
  }
};

}  // namespace

PanelInfo header_bar() {
  return {
      .title = "HEADER",
      .row = Row::header,
      .help = "What is shown? Is it live, paused or gone? Does it match the engine's totals (drift 0)?",
      .make = make_panel<HeaderBar>,
  };
}

}  // namespace canopy::inspector
