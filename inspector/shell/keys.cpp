#include "keys.h"

#include <algorithm>

#include "app.h"

namespace canopy::inspector {
namespace {

void next_note(Timeline& time) {
  const std::vector<Note>& all = time.notes.all();
  if (all.empty()) return;
  const auto next = std::find_if(all.begin(), all.end(), [&](const Note& note) { return note.commit > time.at; });
  time.seek(next == all.end() ? all.front().commit : next->commit);
}

void show_help(App& app, char) { app.selection().help = !app.selection().help; }

void search(App& app, char) {
  app.leave_full_window();
  app.tree_panel().focus_search();
}

void step_search(App& app, char character) { app.step_search(character == 'N'); }

void pause(App& app, char) { app.toggle_pause(); }

void mark(App& app, char character) {
  Timeline& time = app.time();
  if (character == 'm' && time.seekable) app.selection().naming = time.at;
  // The same key steps through search results, if there are more.
  if (character == 'n' && !app.step_search(false)) next_note(time);
}

void other_view(App& app, char) {
  TreePanel& tree = app.tree_panel();
  tree.show(tree.view() == TreeView::icicle ? TreeView::nodes : TreeView::icicle);
  app.selection().reveal = app.selection().node != 0;
}

void zoom(App& app, char) {
  const std::uint32_t slot = slot_of(static_cast<NodeId>(app.selection().node));
  app.tree_panel().zoom_to(app.scene(), app.tree().place_of(slot));
}

void fold(App& app, char) { app.tree_panel().fold(app.shown(), app.selection().node); }

void other_tier(App& app, char) {
  if (app.mirror().below()) app.selection().show_tier(!app.selection().tier);
}

void pin(App& app, char) {
  const std::uint64_t id = app.selection().node;
  if (id == 0 || app.selection().tier) return;  // the tier below has no pins
  const bool pinned = app.mirror().pins().contains(id);
  app.mailbox().send(pinned ? Command::Kind::unpin : Command::Kind::pin, id);
}

void run_until(App& app, char character) {
  const auto group = static_cast<std::uint32_t>(app.selection().group);
  if (character == 'e') app.mailbox().run_until(Condition::evicted, 0, group);
  else app.mailbox().run_until(Condition::missed, kAnySpace, 0);
}

void other_colour(App& app, char) {
  ColourBy& colour = app.selection().colour;
  colour = static_cast<ColourBy>((static_cast<std::size_t>(colour) + 1) % kColourNames.size());
}

void next_group(App& app, char) {
  if (app.mirror().groups() != 0) app.selection().group = (app.selection().group + 1) % app.mirror().groups();
}

void theme(App& app, char) { app.turn_theme(); }
void scale(App& app, char character) { app.scale_by(character == '+' ? 0.25F : -0.25F); }

void choose(App& app, char) { app.choose(); }
void picture(App& app, char) { app.selection().exports.picture = true; }

constexpr KeyLine kLines[] = {
    {"?", "this sheet", "?", show_help, true},
    {"/", "find a node (#12), a request (r 4711), a namespace by part of its name, or a prefix of tokens (12 845)", "/",
     search},
    {"Enter  n  N", "the next or the previous search result", "N", step_search},
    {"space", "pause or continue: the engine if it takes controls, otherwise the picture; in a recording, its playback",
     " ", pause},
    {"left  right", "a recording: one commit back or forward; a live engine that takes controls: one step"},
    {"Home  End", "a recording: its beginning, its end"},
    {"m  n", "a recording: mark this moment, go to the next mark", "mn", mark},
    {"up  down", "the selected node's parent, its first child"},
    {"Page Up  Page Down", "its previous sibling, its next sibling"},
    {"v", "the tree as an icicle, or as nodes and links", "v", other_view},
    {"b", "the tree and the pages of the pools, or of the tier below them", "b", other_tier},
    {"z", "the tree: go into the selected node; Esc shows the whole tree again", "z", zoom},
    {"f", "the tree: fold or unfold the selected node", "f", fold},
    {"wheel, drag", "the tree: zoom and pan; with Ctrl the wheel scrolls up and down"},
    {"double click", "the tree: go into a node, right click folds it; a title: the panel fills the window"},
    {"timeline: drag", "a range, for which every panel shows figures; Esc clears it"},
    {"timeline: wheel, Shift drag", "zoom at the mouse, pan; a double click zooms in, or to the range"},
    {"drag a gap", "resize the panels or rows beside it; a double click restores their sizes"},
    {"p", "pin or unpin the selected node's path, if the engine takes controls", "p", pin},
    {"e  w", "let the engine continue until it evicts from this group, or until a request misses", "ew", run_until},
    {"c", "the next meaning of colour: state, last use, hits, namespace, tier", "c", other_colour},
    {"g", "the next KV cache group", "g", next_group},
    {"o", "choose another feed, or a recording", "o", choose, true},
    {"s", "save what is shown as a picture, canopy-picture.png", "s", picture, true},
    {"Ctrl C", "copy the text of the panel under the mouse"},
    {"t", "dark or light theme", "t", theme, true},
    {"+  -", "larger or smaller", "+-", scale, true},
    {"Ctrl Q", "quit"},
    {"Esc", "back: close this, show all panels, show the whole tree, clear the selection, the range, the tenant"}};

bool pressed(ImGuiKey key) { return ImGui::IsKeyPressed(ImGui::GetKeyIndex(key)); }

/// Handles the keys that move in time: through a recording's commits or an engine's steps.
void press_time_keys(App& app) {
  Timeline& time = app.time();
  if (pressed(ImGuiKey_RightArrow) && time.follows()) app.mailbox().send(Command::Kind::step, 1);
  if (!time.seekable) return;
  if (pressed(ImGuiKey_LeftArrow) && time.at > time.first) time.seek(time.at - 1);
  if (pressed(ImGuiKey_RightArrow)) time.seek(time.at + 1);
  if (pressed(ImGuiKey_Home)) time.seek(0);
  if (pressed(ImGuiKey_End)) time.seek(time.end);
}

/// Handles the keys that move in the tree, from the selected node.
void press_tree_keys(App& app) {
  const Mirror& mirror = app.shown();
  const MirrorNode* node = app.selection().node ? mirror.find(app.selection().node) : nullptr;
  if (!node) return;
  const auto go = [&](std::uint32_t slot) {
    if (slot != 0) app.selection().select_node(mirror.node(slot).id);
  };
  if (pressed(ImGuiKey_UpArrow)) go(node->parent);
  if (pressed(ImGuiKey_DownArrow)) go(node->first_child);
  if (pressed(ImGuiKey_PageUp)) go(node->prev);
  if (pressed(ImGuiKey_PageDown)) go(node->next);
}

}  // namespace

std::span<const KeyLine> key_lines() { return kLines; }

void press_character(App& app, unsigned character) {
  if (character == 0 || character > 127) return;
  const char key = static_cast<char>(character);
  for (const KeyLine& line : kLines)
    if (line.press && line.characters.find(key) != std::string_view::npos && (!app.picker() || line.at_any_time))
      line.press(app, key);
  if (!app.picker()) app.show_panel(key);
}

void press_named_keys(App& app) {
  press_time_keys(app);
  press_tree_keys(app);
  if (pressed(ImGuiKey_Enter)) app.step_search(false);
  if (pressed(ImGuiKey_Escape)) app.go_back();
  if (ImGui::GetIO().KeyCtrl && pressed(ImGuiKey_C)) app.selection().copy = true;
}

}  // namespace canopy::inspector
