#include "keys.h"

#include <views/timeline_panel.h>

#include <algorithm>

#include "app.h"

namespace canopy::inspector {
namespace {

void show_help(App& app) { app.selection().help = !app.selection().help; }

void search(App& app) {
  app.leave_full_window();
  app.tree_panel().focus_search();
}

void next_note(App& app) {
  // The same key steps through search results, if there are more.
  if (app.step_search(false)) return;
  Timeline& time = app.time();
  const std::vector<Note>& all = time.notes.all();
  const auto after = [&](std::uint64_t commit) {
    return std::find_if(all.begin(), all.end(),
                        [&](const Note& note) { return note.commit > commit && time.has(note.commit); });
  };
  auto next = after(time.at);
  if (next == all.end()) next = after(0);
  if (next != all.end()) time.seek(next->commit);
}

void note_moment(App& app) {
  if (app.time().seekable) app.selection().naming = app.time().at;
}

void one_back(App& app) {
  Timeline& time = app.time();
  if (time.seekable && time.at > time.first) time.seek(time.at - 1);
}

void one_forward(App& app) {
  Timeline& time = app.time();
  if (time.follows()) app.mailbox().send(Command::Kind::step, 1);
  else if (time.seekable) time.seek(time.at + 1);
}

void to_begin(App& app) {
  if (app.time().seekable) app.time().seek(0);
}
void to_end(App& app) { app.time().seek(app.time().end); }

/// Selects a neighbour of the selected node.
template <std::uint32_t MirrorNode::* kWay>
void select_beside(App& app) {
  const Mirror& mirror = app.shown();
  const MirrorNode* node = app.selection().node ? mirror.find(app.selection().node) : nullptr;
  if (node && node->*kWay != 0) app.selection().select_node(mirror.node(node->*kWay).id);
}

void other_view(App& app) {
  TreePanel& tree = app.tree_panel();
  tree.show(tree.view() == TreeView::icicle ? TreeView::nodes : TreeView::icicle);
  app.selection().reveal = app.selection().node != 0;
}

void zoom(App& app) {
  const std::uint32_t slot = slot_of(static_cast<NodeId>(app.selection().node));
  app.tree_panel().zoom_to(app.scene(), app.tree().place_of(slot));
}

void fold(App& app) { app.tree_panel().fold(app.shown(), app.selection().node); }

void other_tier(App& app) {
  if (app.mirror().below()) app.selection().show_tier(!app.selection().tier);
}

void pin(App& app) {
  const std::uint64_t id = app.selection().node;
  if (id == 0 || app.selection().tier) return;  // the tier below has no pins
  const bool pinned = app.mirror().pins().contains(id);
  app.mailbox().send(pinned ? Command::Kind::unpin : Command::Kind::pin, id);
}

void run_until_evicted(App& app) {
  app.mailbox().run_until(Condition::evicted, 0, static_cast<std::uint32_t>(app.selection().group));
}
void run_until_missed(App& app) { app.mailbox().run_until(Condition::missed, kAnySpace, 0); }

void other_colour(App& app) {
  ColourBy& colour = app.selection().colour;
  colour = static_cast<ColourBy>((static_cast<std::size_t>(colour) + 1) % kColourNames.size());
}

void other_axis(App& app) { next_axis(app.time()); }

void next_group(App& app) {
  if (app.mirror().groups() != 0) app.selection().group = (app.selection().group + 1) % app.mirror().groups();
}

void picture(App& app) { app.selection().exports.picture = true; }

KeyCommand on(char character, const char* words, void (*act)(App&)) { return {words, act, character, ImGuiKey_COUNT}; }
KeyCommand on(ImGuiKey key, const char* words, void (*act)(App&)) { return {words, act, 0, key}; }

const std::vector<KeyLine>& lines() {
  static const std::vector<KeyLine> kLines = {
      {"?", {on('?', "this sheet, and what the inspector itself needs", show_help)}, "", true},
      {":",
       {on(':', "all commands, panels, files and feeds, by a part of their name",
           [](App& app) { app.open_commands(); })},
       "",
       true},
      {"/",
       {on('/',
           "find a node (#12), a request (r 4711), a namespace by part of its name, or a prefix of tokens (12 845)",
           search)}},
      {"Enter  n  N",
       {on(ImGuiKey_Enter, "the next search result", [](App& app) { app.step_search(false); }),
        on('N', "the previous search result", [](App& app) { app.step_search(true); })}},
      {"space",
       {on(' ', "a recording: play or pause; an engine: pause it, or only hold the moment; in the past: back to now",
           [](App& app) { app.toggle_pause(); })}},
      {"left  right",
       {on(ImGuiKey_LeftArrow, "one commit back", one_back),
        on(ImGuiKey_RightArrow, "one commit forward; at the present of an engine that takes controls, one step",
           one_forward)}},
      {"Home  End",
       {on(ImGuiKey_Home, "to the beginning of a recording, or of what is kept of a live feed", to_begin),
        on(ImGuiKey_End, "to its end, or back to the present", to_end)}},
      {"m  n", {on('m', "note this moment", note_moment), on('n', "go to the next note", next_note)}},
      {"up  down",
       {on(ImGuiKey_UpArrow, "the selected node's parent", select_beside<&MirrorNode::parent>),
        on(ImGuiKey_DownArrow, "its first child", select_beside<&MirrorNode::first_child>)}},
      {"Page Up  Page Down",
       {on(ImGuiKey_PageUp, "the selected node's previous sibling", select_beside<&MirrorNode::prev>),
        on(ImGuiKey_PageDown, "its next sibling", select_beside<&MirrorNode::next>)}},
      {"v", {on('v', "the tree as an icicle, or as nodes and links", other_view)}},
      {"b", {on('b', "the tree and the pages of the pools, or of the tier below them", other_tier)}},
      {"z", {on('z', "the tree: go into the selected node; Esc shows the whole tree again", zoom)}},
      {"f", {on('f', "the tree: fold or unfold the selected node", fold)}},
      {"wheel, drag", {}, "the tree: zoom and pan; with Ctrl the wheel scrolls up and down"},
      {"double click", {}, "the tree: go into a node, right click folds it; a title: the panel fills the window"},
      {"timeline: drag", {}, "a range, for which every panel shows figures; Esc clears it"},
      {"timeline: wheel, Shift drag", {}, "zoom at the mouse, pan; a double click zooms in, or to the range"},
      {"drag a gap", {}, "resize the panels or rows beside it; a double click restores their sizes"},
      {"p", {on('p', "pin or unpin the selected node's path, if the engine takes controls", pin)}},
      {"e  w",
       {on('e', "let the engine continue until it evicts from this group", run_until_evicted),
        on('w', "let it continue until a request misses", run_until_missed)}},
      {"c", {on('c', "the next meaning of colour: state, last use, hits, namespace, tier", other_colour)}},
      {"x", {on('x', "the time axis: the engine's clock, requests, prompt tokens that arrived", other_axis)}},
      {"g", {on('g', "the next KV cache group", next_group)}},
      {"o", {on('o', "choose another feed, or a recording", [](App& app) { app.choose(); })}, "", true},
      {"s", {on('s', "save what is shown as a picture, canopy-picture.png", picture)}, "", true},
      {"Ctrl C", {}, "copy the text of the panel under the mouse"},
      {"t", {on('t', "dark or light theme", [](App& app) { app.turn_theme(); })}, "", true},
      {"+  -",
       {on('+', "larger", [](App& app) { app.scale_by(0.25F); }),
        on('-', "smaller", [](App& app) { app.scale_by(-0.25F); })},
       "",
       true},
      {"Ctrl Q", {}, "quit"},
      {"Esc",
       {on(ImGuiKey_Escape,
           "back: close this, show all panels, show the whole tree, clear the selection, the range, the tenant",
           [](App& app) { app.go_back(); })},
       "",
       true}};
  return kLines;
}

bool pressed(ImGuiKey key) { return ImGui::IsKeyPressed(ImGui::GetKeyIndex(key)); }

}  // namespace

std::string KeyLine::help() const {
  std::string all = words;
  for (const KeyCommand& command : commands)
    if (command.words) all += (all.empty() ? "" : ", ") + std::string(command.words);
  return all;
}

std::span<const KeyLine> key_lines() { return lines(); }

void press_character(App& app, unsigned character) {
  if (character == 0 || character > 127) return;
  const char key = static_cast<char>(character);
  for (const KeyLine& line : lines())
    for (const KeyCommand& command : line.commands)
      if (command.act && command.character == key && (!app.picker() || line.at_any_time)) command.act(app);
  if (!app.picker()) app.show_panel(key);
}

void press_named_keys(App& app) {
  for (const KeyLine& line : lines())
    for (const KeyCommand& command : line.commands)
      if (command.act && command.named != ImGuiKey_COUNT && pressed(command.named)) command.act(app);
  if (ImGui::GetIO().KeyCtrl && pressed(ImGuiKey_C)) app.selection().copy = true;
}

}  // namespace canopy::inspector
