#pragma once

#include <memory>

#include "layout.h"
#include "link.h"
#include <views/panels.h>
#include "picker.h"
#include "settings.h"

namespace canopy::inspector {

/// The inspector without its window: everything between ImGui::NewFrame and ImGui::Render. The same for a window, for
/// a picture and for a test.
class App {
 public:
  App(std::unique_ptr<Link> link, const Settings& settings);
  /// Shows what can be attached to until a person has chosen.
  App(std::unique_ptr<Picker> picker, const Settings& settings);

  /// Takes what has come, sends what was asked. False if there is more to take than one frame had time for.
  bool pump(std::chrono::milliseconds budget);
  /// Whether the picture of this moment cost so much that it should be looked at for a while before the next one:
  /// moving about in it stays smooth.
  bool resting() const { return std::chrono::steady_clock::now() < rests_until_; }
  void draw();
  /// Whether theme or scale changed since the last call: apply_theme, and a new font texture, before the next frame.
  bool theme_changed() { return std::exchange(theme_changed_, false); }
  /// Keys of 1.86 come as characters, and as ImGui's few names.
  void press(unsigned character);

  Settings settings() const;
  Selection& selection() { return selection_; }
  Timeline& time() { return time_; }
  Mailbox& mailbox() { return mailbox_; }
  const Session& session() const { return session_; }
  const Mirror& mirror() const { return mirror_; }
  const TreeIndex& tree() const { return index_; }
  const TreePanel& tree_panel() const { return tree_; }
  const ControlsTab& controls_tab() const { return controls_; }
  const RequestsPanel& requests_panel() const { return requests_; }
  /// Null when there is nothing to choose, or no more.
  const Picker* picker() const { return picker_.get(); }
  void show_tree(TreeView view) { tree_.show(view); }
  void open_tab(std::string_view name) { wanted_tab_ = name; }

 private:
  App(std::unique_ptr<Link> link, std::unique_ptr<Picker> picker, const Settings& settings);
  void connect(std::unique_ptr<Link> link);
  void arrows();
  void toggle_pause();
  void next_bookmark();
  bool step_search(bool back);
  Scene scene() { return {mirror_, index_, selection_, mailbox_, session_, time_}; }
  void draw_tabs(Scene& scene, const Area& area);
  void draw_help();

  std::unique_ptr<Picker> picker_;
  std::unique_ptr<Link> link_;
  Settings settings_;
  Mirror mirror_;
  Session session_;
  Selection selection_;
  Mailbox mailbox_;
  Timeline time_;
  TreeIndex index_;
  TreePanel tree_;
  NodePanel node_;
  SizesPanel sizes_;
  PoolPanel pool_;
  LeavePanel leave_;
  RequestsPanel requests_;
  EventsTab events_;
  ControlsTab controls_;
  std::chrono::steady_clock::time_point rests_until_{};
  std::string_view wanted_tab_;
  bool theme_changed_ = true;
};

}  // namespace canopy::inspector
