#include <views/draw.h>

#include "app.h"

namespace canopy::inspector {

/// Draws the list of the panels and pages, in a window that has room for one of them only.
void App::draw_chooser(Scene& scene, const Area& area) {
  const std::span<const PanelInfo> infos = panels();
  begin_panel("##chooser", area);
  const auto step = [&](int by) {
    std::size_t at = *full_window_;
    do at = (at + infos.size() + static_cast<std::size_t>(by)) % infos.size();
    while (infos[at].is_bar());
    full_window_ = at;
  };
  if (button("  <  ")) step(-1);
  ImGui::SameLine(0, em() * 0.4F);
  if (button("  >  ")) step(1);
  ImGui::SameLine(0, em() * 0.6F);
  ImGui::SetNextItemWidth(em() * 13);
  ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, {ImGui::GetStyle().FramePadding.x, 0});
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {ImGui::GetStyle().ItemSpacing.x, em() * 0.6F});
  if (ImGui::BeginCombo("##panel", infos[*full_window_].title, ImGuiComboFlags_HeightLargest)) {
    for (std::size_t i = 0; i < infos.size(); ++i)
      if (!infos[i].is_bar() && ImGui::Selectable(infos[i].title, i == full_window_)) full_window_ = i;
    if (ImGui::Selectable("more: all commands")) open_commands();
    ImGui::EndCombo();
  }
  ImGui::PopStyleVar(2);
  if (scene.mirror.groups() > 1) {
    ImGui::SameLine(0, em() * 0.6F);
    const std::string group = fitted(scene.pool().name, ImGui::GetContentRegionAvail().x - em());
    if (button((group + "##group").c_str()))
      scene.selection.group = (scene.selection.group + 1) % scene.mirror.groups();
  }
  end_panel();
}

}  // namespace canopy::inspector
