#include "keys.h"

#include <algorithm>

#include "app.h"

namespace canopy::inspector {
namespace {

void next_bookmark(Timeline& time) {
  std::vector<std::uint64_t> marks = time.bookmarks;
  std::sort(marks.begin(), marks.end());
  const auto next = std::upper_bound(marks.begin(), marks.end(), time.at);
  if (!marks.empty()) time.seek(next == marks.end() ? marks.front() : *next);
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
  if (character == 'm' && time.seekable) time.bookmarks.push_back(time.at);
  // The same key goes through what a search found, if there is more of it.
  if (character == 'n' && !app.step_search(false)) next_bookmark(time);
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
  if (id == 0 || app.selection().tier) return;  // a tier below has no pins
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

constexpr KeyLine kLines[] = {
    {"?", "this sheet", "?", show_help, true},
    {"/", "find a node (#12), a request (r 4711), a namespace by a part of its name, or a prefix of tokens (12 845)",
     "/", search},
    {"Enter  n  N", "of several that were found, the next or the one before", "N", step_search},
    {"space", "pause and go on: the engine if it takes controls, the picture if not, a recording's play", " ", pause},
    {"left  right", "a recording: one commit back, one on; a live engine that takes controls: one step"},
    {"Home  End", "a recording: its beginning, its end"},
    {"m  n", "a recording: mark this moment, go to the next mark", "mn", mark},
    {"up  down", "the selected node's parent, its first child"},
    {"Page Up  Page Down", "its sibling before, its sibling after"},
    {"v", "the tree as an icicle, or as nodes and links", "v", other_view},
    {"b", "the tree and the pages of the pools, or of the tier below them", "b", other_tier},
    {"z", "the tree: go into the selected node; Esc shows all again", "z", zoom},
    {"f", "the tree: fold and unfold the selected node", "f", fold},
    {"wheel, drag", "the tree: zoom and pan; with Ctrl the wheel goes up and down"},
    {"double click", "the tree: go into a node, right click folds it; a title: the panel fills the window"},
    {"drag a gap", "panels beside it, or rows, get larger and smaller; a double click on it takes that back"},
    {"p", "pin the selected node's path, or unpin it, if the engine takes controls", "p", pin},
    {"e  w", "the engine goes on until it evicts from this group, until a request misses", "ew", run_until},
    {"c", "another meaning of colour: state, last use, hits, namespace, tier", "c", other_colour},
    {"g", "another KV cache group", "g", next_group},
    {"o", "another feed, or a recording", "o", choose, true},
    {"t", "dark or light", "t", theme, true},
    {"+  -", "larger or smaller", "+-", scale, true},
    {"Ctrl Q", "quit"},
    {"Esc", "back: close this, show all panels, show all of the tree, select nothing"}};

bool pressed(ImGuiKey key) { return ImGui::IsKeyPressed(ImGui::GetKeyIndex(key)); }

/// Through time: a recording's commits, an engine's steps.
void press_time_keys(App& app) {
  Timeline& time = app.time();
  if (!time.seekable) {
    if (pressed(ImGuiKey_RightArrow)) app.mailbox().send(Command::Kind::step, 1);
    return;
  }
  if (pressed(ImGuiKey_LeftArrow) && time.at > Timeline::kFirst) time.seek(time.at - 1);
  if (pressed(ImGuiKey_RightArrow)) time.seek(time.at + 1);
  if (pressed(ImGuiKey_Home)) time.seek(0);
  if (pressed(ImGuiKey_End)) time.seek(time.end);
}

/// Through the tree, from the selected node.
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
}

}  // namespace canopy::inspector
