#include "notes_panel.h"

#include <account/time_axis.h>
#include <canopy/base/figures.h>
#include <fmt/format.h>

#include <algorithm>

#include "export_button.h"
#include "list_table.h"
#include "panels.h"

namespace canopy::inspector {
namespace {

using listing::Listing;
using listing::Unit;
using listing::Value;

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
  const TimeAxis axis(time.history);
  std::uint64_t removed = 0;
  Listing<Note> list;
  list.add("commit", Unit::count, [](const Note& note) { return note.commit; }).wide(6);
  list.add("after", Unit::count, [&](const Note& note) { return when(axis, note.commit); }).wide(6, 36);
  list.add("note", Unit::text, [](const Note& note) { return note.text.empty() ? "-" : note.text; })
      .in_tone([](const Note& note) { return note.text.empty() ? listing::Tone::dim : listing::Tone::plain; });
  list.add("", Unit::text, [](const Note&) { return Value(); }).wide(9.2F);
  ListTable<Note>{
      .id = "notes",
      .columns = list,
      .click =
          [&](const Note& note) {
            if (time.has(note.commit)) time.seek(note.commit);
          },
      .is_chosen = [&](const Note& note) { return note.commit == time.at; },
      .explain =
          [&](const Note& note) {
            return note.text + (note.text.empty() ? "" : "\n") +
                   (time.has(note.commit) ? "Goes to this moment." : "This moment of the live feed is no longer kept.");
          },
      .draw_cell =
          [&](const std::string& head, const Note& note) {
            if (!head.empty()) return false;
            if (ImGui::SmallButton("rename")) scene.selection.naming = note.commit;
            ImGui::SameLine(0, em() * 0.5F);
            if (ImGui::SmallButton("remove")) removed = note.commit;
            return true;
          },
  }
      .draw(time.notes.all());
  if (removed != 0) time.notes.remove(removed);
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
