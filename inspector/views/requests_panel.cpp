#include <fmt/format.h>

#include "figures.h"
#include "panels.h"

namespace canopy::inspector {

const char* phase_word(const MirrorRequest& request) {
  switch (request.phase) {
    case RequestPhase::finished:
      return "finished";
    case RequestPhase::aborted:
      return "aborted";
    case RequestPhase::retracted:
      return "set aside";
    default:
      break;
  }
  return request.computed < request.prompt ? "prefill" : "decoding";
}

std::string space_name(const Mirror& mirror, NamespaceId space) {
  const auto at = static_cast<std::size_t>(space);
  if (at >= mirror.spaces().size()) return fmt::format("namespace {}", at);
  return mirror.spaces()[at].name.empty() ? "(shared)" : mirror.spaces()[at].name;
}

void RequestsPanel::draw(Scene& scene, const Area& area) {
  begin_panel("REQUESTS", area);
  const std::vector<MirrorRequest>& requests = scene.mirror.requests();
  ImGui::SameLine(0, em() * 1.2F);
  if (choice("all", !running_only_)) running_only_ = false;
  ImGui::SameLine(0, em() * 0.4F);
  if (choice("running", running_only_)) running_only_ = true;
  if (at_ != scene.mirror.commits() || shown_running_ != running_only_) {
    at_ = scene.mirror.commits(), shown_running_ = running_only_;
    rows_.clear();
    for (std::size_t i = requests.size(); i-- > 0;)
      if (!running_only_ || !requests[i].ended()) rows_.push_back(i);
  }
  if (rows_.empty()) {
    nothing_here(running_only_ ? "No request runs at this moment." : "No request has come yet.");
    end_panel();
    return;
  }
  constexpr ImGuiTableFlags kFlags =
      ImGuiTableFlags_ScrollY | ImGuiTableFlags_RowBg | ImGuiTableFlags_SizingStretchProp;
  if (ImGui::BeginTable("requests", 7, kFlags)) {
    ImGui::TableSetupScrollFreeze(0, 1);
    ImGui::TableSetupColumn("id", ImGuiTableColumnFlags_WidthFixed, em() * 3.6F);
    ImGui::TableSetupColumn("namespace", ImGuiTableColumnFlags_WidthFixed, em() * 6);
    ImGui::TableSetupColumn("prompt", ImGuiTableColumnFlags_WidthFixed, em() * 4.2F);
    ImGui::TableSetupColumn("hit", ImGuiTableColumnFlags_WidthFixed, em() * 4.2F);
    ImGui::TableSetupColumn("", ImGuiTableColumnFlags_WidthFixed, em() * 3.6F);
    ImGui::TableSetupColumn("state", ImGuiTableColumnFlags_WidthFixed, em() * 5);
    ImGui::TableSetupColumn("why not more");
    column_heads({{"id"}, {"namespace"}, {"prompt", true}, {"hit", true}, {""}, {"state"}, {"why not more"}});
    ImGuiListClipper clipper;
    clipper.Begin(static_cast<int>(rows_.size()));
    while (clipper.Step())
      for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i) {
        const MirrorRequest& request = requests[rows_[static_cast<std::size_t>(i)]];
        ImGui::TableNextRow();
        ImGui::TableNextColumn();
        ImGui::PushID(static_cast<int>(request.id));
        if (ImGui::Selectable("##row", request.id == scene.selection.request, ImGuiSelectableFlags_SpanAllColumns))
          scene.selection.select_request(request);
        const std::string why = scene.mirror.why_missed(request);
        explain(
            fmt::format("Request {}: {} of {} prompt tokens were in the cache; {} are computed, {} are the tree's, {} "
                        "are known. Not more because: {}.",
                        request.id, grouped(request.matched), grouped(request.prompt), grouped(request.computed),
                        grouped(request.committed), grouped(request.known), why));
        ImGui::PopID();
        ImGui::SameLine(0, 0);
        text(std::to_string(request.id));
        ImGui::TableNextColumn();
        dim(fitted(space_name(scene.mirror, request.space), ImGui::GetContentRegionAvail().x));
        ImGui::TableNextColumn();
        number(grouped(request.prompt));
        ImGui::TableNextColumn();
        number(grouped(request.matched));
        ImGui::TableNextColumn();
        number(fmt::format("{:.0f} %", request.prompt ? 100.0 * request.matched / request.prompt : 0.0));
        ImGui::TableNextColumn();
        text(phase_word(request), request.ended() ? palette().dim : palette().text);
        ImGui::TableNextColumn();
        dim(fitted(why, ImGui::GetContentRegionAvail().x));
      }
    ImGui::EndTable();
  }
  end_panel();
}

}  // namespace canopy::inspector
