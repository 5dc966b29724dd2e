#include "notes_panel.h"

#include <account/time_axis.h>
#include <canopy/base/figures.h>
#include <fmt/format.h>

#include <algorithm>

#include "draw.h"
#include "export_button.h"
#include "panels.h"

namespace canopy::inspector {
namespace {

std::string when(const TimeAxis& axis, std::uint64_t commit) {
  return axis.by_clock() ? axis.length_words(axis.value_of(commit) - axis.first()) : "-";
}

/// Returns the name of the file for a copy of the notes.
std::string copy_name(const std::string& source) { return source.substr(source.find_last_of('/') + 1) + ".notes"; }

}  // namespace

std::string NotesPanel::note(const Scene& scene) const {
  if (!scene.time.notes_complaint.empty()) return scene.time.notes_complaint;
  if (!scene.time.notes_place.empty()) return "kept in " + scene.time.notes_place;
  return scene.time.live ? "not kept: notes of a live feed end with it; save a copy" : "not kept";
}

void NotesPanel::draw(Scene& scene) {
  Timeline& time = scene.time;
  if (button("note this moment")) scene.selection.naming = time.at;
  explain("Marks the moment that is shown, and asks for a name (m).");
  export_button(scene, "save a copy", copy_name(scene.session.name), "the notes", [&] { return time.notes.text(); });
  if (time.notes.all().empty())
    return nothing_here(
        "No notes yet. m marks the moment that is shown and asks for a name; n goes to the next note. "
        "The timeline and the time bar show them.");
  constexpr ImGuiTableFlags kNoteFlags =
      ImGuiTableFlags_ScrollY | ImGuiTableFlags_RowBg | ImGuiTableFlags_SizingStretchProp;
  if (!ImGui::BeginTable("notes", 4, kNoteFlags)) return;
  ImGui::TableSetupScrollFreeze(0, 1);
  const bool is_narrow = ImGui::GetContentRegionAvail().x < em() * 36;  // such as a phone's: no time
  ImGui::TableSetupColumn("", ImGuiTableColumnFlags_WidthFixed, em() * (is_narrow ? 5.F : 6.F));
  ImGui::TableSetupColumn("", ImGuiTableColumnFlags_WidthFixed | (is_narrow ? ImGuiTableColumnFlags_Disabled : 0),
                          em() * 6);
  ImGui::TableSetupColumn("");
  ImGui::TableSetupColumn("", ImGuiTableColumnFlags_WidthFixed, em() * 9.2F);
  column_heads({{"commit", true}, {"after", true}, {"note"}, {""}});
  const TimeAxis axis(time.history);
  std::uint64_t removed = 0;
  for (const Note& each : time.notes.all()) draw_row(scene, axis, each, removed);
  ImGui::EndTable();
  if (removed != 0) time.notes.remove(removed);
}

void NotesPanel::draw_row(Scene& scene, const TimeAxis& axis, const Note& each, std::uint64_t& removed) {
  Timeline& time = scene.time;
  ImGui::TableNextRow();
  ImGui::TableNextColumn();
  ImGui::PushID(static_cast<int>(each.commit));
  const ImVec2 from = ImGui::GetCursorPos();
  const bool goes = ImGui::Selectable("##go", each.commit == time.at, ImGuiSelectableFlags_None);
  if (goes && time.has(each.commit)) time.seek(each.commit);
  explain(time.has(each.commit) ? "Goes to this moment." : "This moment of the live feed is no longer kept.");
  ImGui::SetCursorPos(from);
  number(grouped(each.commit));
  if (ImGui::TableNextColumn()) number(when(axis, each.commit));
  ImGui::TableNextColumn();
  text(fitted(each.text.empty() ? "-" : each.text, ImGui::GetContentRegionAvail().x),
       each.text.empty() ? palette().dim : palette().text);
  if (!each.text.empty()) explain(each.text);
  ImGui::TableNextColumn();
  if (ImGui::SmallButton("rename")) scene.selection.naming = each.commit;
  ImGui::SameLine(0, em() * 0.5F);
  if (ImGui::SmallButton("remove")) removed = each.commit;
  ImGui::PopID();
}

void NoteField::draw(Scene& scene, float bottom) {
  Timeline& time = scene.time;
  std::uint64_t& wanted = scene.selection.naming;
  const bool opens = wanted != 0 && wanted != commit_;
  commit_ = wanted;
  if (wanted == 0) return;
  if (opens) {
    // The moment is marked at once; the name may follow.
    const Note* known = time.notes.at(wanted);
    text_.fill('\0');
    if (known) known->text.copy(text_.data(), text_.size() - 1);
    else time.notes.set(wanted, "");
  }
  const float width = ImGui::GetIO().DisplaySize.x;
  ImGui::SetNextWindowPos({width / 2, bottom - em() * 0.4F}, ImGuiCond_Always, {0.5F, 1});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 1);
  if (opens) ImGui::SetNextWindowFocus();
  ImGui::Begin("##note", nullptr,
               ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings |
                   ImGuiWindowFlags_AlwaysAutoResize);
  text(fmt::format("Note at commit {}", grouped(wanted)));
  ImGui::SetNextItemWidth(std::min(em() * 26, width - em() * 10));
  if (opens) ImGui::SetKeyboardFocusHere();
  const bool done = ImGui::InputTextWithHint("##text", "what happens here", text_.data(), text_.size(),
                                             ImGuiInputTextFlags_EnterReturnsTrue);
  const bool left = ImGui::IsItemDeactivated();
  if (done || left) time.notes.set(wanted, text_.data());
  ImGui::SameLine(0, em() * 0.5F);
  const bool removes = button("remove");
  if (removes) time.notes.remove(wanted);
  const bool outside = ImGui::IsMouseClicked(ImGuiMouseButton_Left) &&
                       !ImGui::IsWindowHovered(ImGuiHoveredFlags_AllowWhenBlockedByActiveItem);
  ImGui::End();
  ImGui::PopStyleVar();
  if (done || removes || outside || (left && !ImGui::IsMouseDown(ImGuiMouseButton_Left))) wanted = 0;
}

PanelInfo notes_panel() {
  return {
      .title = "NOTES",
      .row = Row::page,
      .key = 'K',
      .help = "Which moments did you mark, and why? They are kept beside a recording",
      .make = make_panel<NotesPanel>,
  };
}

}  // namespace canopy::inspector
