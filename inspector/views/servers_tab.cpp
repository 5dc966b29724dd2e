#include <canopy/feed/event.h>
#include <canopy/support/figures.h>
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <string_view>

#include "draw.h"
#include "panels.h"

namespace canopy::inspector {
namespace {

using Fields = std::array<std::string_view, kWorkerFields>;

/// Apart by tabs; a field that is not there is empty.
Fields fields_of(std::string_view line) {
  Fields fields;
  for (std::string_view& field : fields) {
    const std::size_t end = std::min(line.find('\t'), line.size());
    field = line.substr(0, end);
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return fields;
}

std::uint64_t figure_of(std::string_view digits) {
  std::uint64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

class ServersTab final : public Panel {
 public:
  void draw(Scene& scene) override {
    const Mirror& mirror = scene.mirror;
    if (!mirror.is_from_events()) return nothing_here("The feed is an engine's own: it is not made from KV events.");
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
    for (const std::string& worker : mirror.workers()) draw_row(fields_of(worker));
    ImGui::EndTable();
  }

 private:
  static std::string_view of(const Fields& fields, WorkerField field) {
    return fields[static_cast<std::size_t>(field)];
  }

  static void draw_row(const Fields& fields) {
    const std::uint64_t tokens = figure_of(of(fields, WorkerField::tokens));
    const std::uint64_t shared = figure_of(of(fields, WorkerField::shared));
    const std::string_view state = of(fields, WorkerField::state);
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    text(fitted(std::string(of(fields, WorkerField::name)), ImGui::GetContentRegionAvail().x));
    explain(of(fields, WorkerField::name));
    ImGui::TableNextColumn();
    number(brief(static_cast<double>(tokens)));
    ImGui::TableNextColumn();
    number(percent(shared, tokens));
    explain(fmt::format("{} of its {} tokens are cached by at least one other server as well.", grouped(shared),
                        grouped(tokens)));
    ImGui::TableNextColumn();
    text(fitted(std::string(state), ImGui::GetContentRegionAvail().x),
         state.starts_with("whole") ? palette().text : palette().warn);
    explain(state);
  }
};

}  // namespace

PanelInfo servers_tab() {
  return {
      .title = "SERVERS",
      .row = Row::page,
      .key = '6',
      .help = "Which servers' KV events are shown, what have they in common, and what is missing?",
      .make = make_panel<ServersTab>,
  };
}

}  // namespace canopy::inspector
