#include "export_button.h"

#include <fmt/format.h>

#include "draw.h"

namespace canopy::inspector {

void export_button(Scene& scene, const char* label, const std::string& file, const char* help,
                   const std::function<std::string()>& text) {
  if (!scene.selection.exports.possible) return;
  const std::string_view words = help;
  scene.selection.exports.offers.push_back({file, std::string(words.substr(0, words.find_last_not_of(',') + 1))});
  if (scene.selection.exports.chosen == file) {
    scene.selection.exports.chosen.clear();
    scene.selection.exports.wanted.push_back({file, text()});
  }
  const float gap = em() * 0.6F, right = ImGui::GetWindowPos().x + ImGui::GetWindowContentRegionMax().x;
  const float wide = ImGui::CalcTextSize(label).x + ImGui::GetStyle().FramePadding.x * 2;
  if (ImGui::GetItemRectMax().x + gap + wide > right) return;
  ImGui::SameLine(0, gap);
  ImGui::PushID(file.c_str());
  if (button(label)) scene.selection.exports.wanted.push_back({file, text()});
  ImGui::PopID();
  explain(fmt::format("Writes {} to {}.", help, file));
}

}  // namespace canopy::inspector
