#include <fmt/format.h>

#include "panels.h"

namespace canopy::inspector {
namespace {

/// The fields of a line that the feed told, apart by tabs.
std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> fields;
  for (std::size_t at = 0; at <= line.size();) {
    const std::size_t end = std::min(line.find('\t', at), line.size());
    fields.push_back(line.substr(at, end - at));
    at = end + 1;
  }
  return fields;
}

}  // namespace

void draw_plugins(Scene& scene) {
  const Mirror& mirror = scene.mirror;
  if (mirror.plugins().empty() && mirror.refusals().empty())
    return nothing_here("The feed has not told of any plugin.");
  ImGui::BeginChild("plugins");
  for (const std::string& line : mirror.refusals()) {
    const auto fields = fields_of(line);
    text("refused", palette().bad);
    ImGui::SameLine(em() * 5.5F);
    wrapped(fmt::format("{}: {}", fields[0], fields.size() > 1 ? fields[1] : ""), palette().text);
  }
  for (const std::string& line : mirror.plugins()) {
    const auto fields = fields_of(line);
    if (fields.size() < 4) continue;
    text(fitted(fields[1], em() * 7));
    ImGui::SameLine(em() * 7.5F);
    dim(fitted(fields[2], ImGui::GetContentRegionAvail().x));
    explain(fmt::format("{}\n{}\nfrom {}", fields[0], fields[2], fields[3]));
  }
  ImGui::EndChild();
}

void draw_config(Scene& scene) {
  if (scene.mirror.config().empty()) return nothing_here("The feed has not told the engine's configuration.");
  ImGui::BeginChild("config", {0, 0}, false, ImGuiWindowFlags_HorizontalScrollbar);
  text(scene.mirror.config());
  ImGui::EndChild();
}

}  // namespace canopy::inspector
