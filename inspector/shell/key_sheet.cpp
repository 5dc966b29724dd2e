#include <canopy/base/figures.h>
#include <fmt/format.h>
#include <views/draw.h>
#include <views/panels.h>

#include <algorithm>

#include "app.h"
#include "keys.h"

namespace canopy::inspector {
namespace {

/// Returns the place of the texts behind the keys and names.
float texts_at() {
  float wide = em() * 10;
  for (const KeyLine& line : key_lines()) wide = std::max(wide, ImGui::CalcTextSize(line.keys).x);
  for (const PanelInfo& panel : panels()) wide = std::max(wide, em() * 2 + ImGui::CalcTextSize(panel.title).x);
  return wide + em();
}

void draw_line(float at, const char* keys, const char* name, std::string_view help) {
  if (*keys) text(keys, palette().accent);
  else text(" ");
  if (*name) {
    ImGui::SameLine(em() * 2);
    text(name, palette().accent);
  }
  ImGui::SameLine(at);
  text(help);
}

/// Returns what the inspector itself needs, in words.
std::string cost_words(const App& app) {
  const App::Cost& cost = app.cost();
  if (cost.frames == 0) return {};
  std::string words =
      fmt::format("Frame {}, longest of late {}. ", seconds(cost.frame_ms / 1e3), seconds(cost.worst_ms / 1e3));
  if (cost.memory > 0) words += fmt::format("Memory: {}", bytes(cost.memory));
  words += fmt::format("{}tree and pools {}", cost.memory > 0 ? ": " : "Memory: ", bytes(app.mirror().bytes()));
  if (app.time().live)
    words +=
        fmt::format(", kept past {} of at most {}", bytes(app.time().kept_bytes), bytes(app.time().most_kept_bytes));
  return words + ".";
}

}  // namespace

void draw_key_sheet(const App& app) {
  const ImVec2 display = ImGui::GetIO().DisplaySize;
  // Reduces the space between the lines as far as a low window requires.
  const auto lines = static_cast<float>(key_lines().size() + panels().size() + 2);
  const float most = ImGui::GetStyle().ItemSpacing.y, room = display.y * 0.96F / lines - ImGui::GetTextLineHeight();
  ImGui::SetNextWindowPos({display.x / 2, display.y / 2}, ImGuiCond_Always, {0.5F, 0.5F});
  ImGui::SetNextWindowFocus();
  ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 1);
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {ImGui::GetStyle().ItemSpacing.x, std::clamp(room, 0.F, most)});
  ImGui::Begin("keys", nullptr,
               ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings |
                   ImGuiWindowFlags_AlwaysAutoResize);
  text("KEYS", palette().dim);
  ImGui::SameLine(texts_at());
  dim(cost_words(app));
  const float at = texts_at();
  for (const KeyLine& line : key_lines()) draw_line(at, line.keys, "", line.help());
  ImGui::Dummy({0, em() * 0.2F});
  text("PANELS AND TABS: a key brings a tab to the front; a panel fills the window until that key or Esc is pressed",
       palette().dim);
  for (const PanelInfo& panel : panels()) {
    if (panel.key == 0) continue;
    const char key[] = {panel.key, '\0'};
    draw_line(at, key, panel.title, panel.help);
  }
  ImGui::Dummy({0, em() * 0.2F});
  dim("Hover over anything to see what it is and where it comes from. Click a node, page, request or line to select "
      "it.");
  ImGui::End();
  ImGui::PopStyleVar(2);
}

}  // namespace canopy::inspector
