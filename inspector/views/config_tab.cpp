#include "draw.h"
#include "panels.h"

namespace canopy::inspector {
namespace {

class ConfigTab final : public Panel {
 public:
  void draw(Scene& scene) override {
    if (scene.mirror.config().empty()) return nothing_here("The feed has not sent the engine's configuration.");
    ImGui::BeginChild("config", {0, 0}, false, ImGuiWindowFlags_HorizontalScrollbar);
    text(scene.mirror.config());
    ImGui::EndChild();
  }
};

}  // namespace

PanelInfo config_tab() {
  return {
      .title = "CONFIG",
      .row = Row::page,
      .key = '4',
      .help = "What is the engine's complete configuration?",
      .make = make_panel<ConfigTab>,
  };
}

}  // namespace canopy::inspector
