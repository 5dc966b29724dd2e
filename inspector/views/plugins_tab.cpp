#include <fmt/format.h>

#include <mirror/feed_lines.h>

#include <algorithm>
#include <string_view>

#include "draw.h"
#include "panels.h"

namespace canopy::inspector {
namespace {

class PluginsTab final : public Panel {
 public:
  void draw(Scene& scene) override {
    const Mirror& mirror = scene.mirror;
    if (mirror.plugins().empty() && mirror.refusals().empty())
      return nothing_here("The feed has not reported any plugin.");
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
};

}  // namespace

PanelInfo plugins_tab() {
  return {
      .title = "PLUGINS",
      .row = Row::page,
      .key = '3',
      .help = "Which plugins are loaded, which were refused, and why?",
      .make = make_panel<PluginsTab>,
      .not_in_events = "The feed is made from KV events of a server, which has no Canopy plugins.",
  };
}

}  // namespace canopy::inspector
