#include <canopy/base/figures.h>
#include <fmt/format.h>
#include <mirror/feed_lines.h>

#include <string_view>

#include "draw.h"
#include "panels.h"

namespace canopy::inspector {
namespace {

class ServersTab final : public Panel {
 public:
  void draw(Scene& scene) override {
    const Mirror& mirror = scene.mirror;
    if (!mirror.is_from_events()) return nothing_here("The feed comes from an engine: it is not made from KV events.");
    dim(fitted(mirror.origin(), ImGui::GetContentRegionAvail().x));
    explain(mirror.origin());
    constexpr ImGuiTableFlags kFlags =
        ImGuiTableFlags_ScrollY | ImGuiTableFlags_RowBg | ImGuiTableFlags_SizingStretchProp;
    if (!ImGui::BeginTable("servers", 4, kFlags)) return;
    ImGui::TableSetupScrollFreeze(0, 1);
    ImGui::TableSetupColumn("server");
    ImGui::TableSetupColumn("tokens", ImGuiTableColumnFlags_WidthFixed, em() * 4.5F);
    ImGui::TableSetupColumn("others have", ImGuiTableColumnFlags_WidthFixed, em() * 5.5F);
    ImGui::TableSetupColumn("events");
    column_heads({{"server"}, {"tokens", true}, {"others have", true}, {"events"}});
    for (const std::string& worker : mirror.workers()) draw_row(WorkerLine(worker));
    ImGui::EndTable();
  }

 private:
  static void draw_row(const WorkerLine& worker) {
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    text(fitted(std::string(worker.name), ImGui::GetContentRegionAvail().x));
    explain(worker.name);
    ImGui::TableNextColumn();
    number(brief(static_cast<double>(worker.tokens)));
    ImGui::TableNextColumn();
    number(percent(worker.shared, worker.tokens));
    explain(fmt::format("{} of its {} tokens are cached by at least one other server as well.", grouped(worker.shared),
                        grouped(worker.tokens)));
    ImGui::TableNextColumn();
    const std::string events = worker.events();
    text(fitted(events, ImGui::GetContentRegionAvail().x), !worker.lost.empty()                ? palette().bad
                                                           : worker.state.starts_with("whole") ? palette().text
                                                                                               : palette().warn);
    explain(events);
  }
};

}  // namespace

PanelInfo servers_tab() {
  return {
      .title = "SERVERS",
      .row = Row::page,
      .key = '6',
      .help = "Which servers' KV events are shown, what do they have in common, and what is missing?",
      .make = make_panel<ServersTab>,
  };
}

}  // namespace canopy::inspector
