#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <views/tree_panel.h>
#include "layout.h"
#include "link.h"
#include "loading.h"
#include "picker.h"
#include "settings.h"
#include "splitters.h"

namespace canopy::inspector {

/// What can be looked at.
struct Sources {
  Picker::Find find;
  Picker::Attach attach, open;  ///< a feed by its name, a recording by its path
};

/// The inspector without its window: everything between ImGui::NewFrame and ImGui::Render. The same for a window, for
/// a picture and for a test.
class App {
 public:
  App(std::unique_ptr<Link> link, const Settings& settings);
  /// Shows the feeds that can be attached to until one of them is chosen.
  App(std::unique_ptr<Picker> picker, const Settings& settings);

  /// From now on another source can be chosen, and a feed that has ended is attached to again when it can be.
  void offer(Sources sources);
  /// Opens the list of what can be looked at, or closes it if something is looked at.
  void choose();

  /// Takes what has come, sends what was asked. False if there is more to take than one frame had time for.
  bool pump(std::chrono::milliseconds budget);
  /// Whether a recording is being read and the moment that is wanted is not there yet: panels are drawn when it is.
  bool loading() const { return behind_; }
  /// Another number when there is another moment or state to draw.
  std::uint64_t changes() const;
  /// A recording stays at the moment that was reached.
  void stop_loading();
  const Loading& loading_panel() const { return loading_; }
  /// Whether the picture of this moment took so long to make that the next moment should wait: zooming and panning stay
  /// smooth.
  bool resting() const { return std::chrono::steady_clock::now() < rests_until_; }
  void draw();
  /// Whether theme or scale changed since the last call: apply_theme, and a new font texture, before the next frame.
  bool theme_changed() { return std::exchange(theme_changed_, false); }

  Settings settings() const;
  Selection& selection() { return selection_; }
  Timeline& time() { return time_; }
  Mailbox& mailbox() { return mailbox_; }
  const Session& session() const { return session_; }
  const Mirror& mirror() const { return mirror_; }
  /// What the tree shows: the mirror, or its tier below.
  const Mirror& shown() const { return selection_.tier && mirror_.below() ? *mirror_.below() : mirror_; }
  const TreeIndex& tree() const { return index_; }
  Scene scene() { return {shown(), index_, selection_, mailbox_, session_, time_, mirror_, shares_}; }
  TreePanel& tree_panel() { return panel<TreePanel>(); }
  const TreePanel& tree_panel() const { return panel<TreePanel>(); }
  /// Null when there is nothing to choose, or no more.
  const Picker* picker() const { return picker_.get(); }

  /// The panel of a class. REQUIRES: the table has one.
  template <class Kind>
  Kind& panel() const {
    for (const auto& each : panels_)
      if (auto* found = dynamic_cast<Kind*>(each.get())) return *found;
    std::abort();
  }
  /// The panel or tab with this key: a tab comes to the front; a panel or a page fills the window, or gives it back if
  /// it does.
  void show_panel(char key);
  /// The tab with this title comes to the front; false if there is none.
  bool open_tab(std::string_view title);
  /// All panels are on the screen again. False if they were.
  bool leave_full_window() { return std::exchange(full_window_, std::nullopt).has_value(); }

  /// Of the engine, the picture or a recording's play, whichever this feed has.
  void toggle_pause();
  /// See TreePanel::step_search.
  bool step_search(bool back);
  /// What Esc does: closes, leaves or forgets one thing, the last one first.
  void go_back();
  void turn_theme();
  void scale_by(float step);

 private:
  App(std::unique_ptr<Link> link, std::unique_ptr<Picker> picker, const Settings& settings);
  void connect(std::unique_ptr<Link> link);
  void make_panels();
  void attach_again();
  void update();
  void draw_panels(Scene& scene, const Layout& layout, bool bars_below);
  void draw_content(std::size_t panel, Scene& scene);
  void draw_tabs(Scene& scene, const Area& area);

  Sources sources_;
  std::unique_ptr<Picker> picker_;
  std::unique_ptr<Link> link_;
  std::chrono::steady_clock::time_point next_look_{};  ///< for an engine of the name of one that has ended
  Settings settings_;
  Mirror mirror_;
  Session session_;
  Selection selection_;
  Mailbox mailbox_;
  Timeline time_;
  TreeIndex index_;
  TierShares shares_;
  std::vector<std::unique_ptr<Panel>> panels_;      ///< in the order of the table
  std::optional<std::size_t> full_window_, front_;  ///< places in the table; front_: the tab that shall come there
  std::chrono::steady_clock::time_point rests_until_{};
  bool theme_changed_ = true;
  bool behind_ = false;  ///< of a recording, see loading()
  Loading loading_;
  Splitters splitters_;
};

}  // namespace canopy::inspector
