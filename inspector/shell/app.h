#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <views/notes_panel.h>
#include <views/panels.h>
#include <views/tree_panel.h>
#include "command_list.h"
#include "layout.h"
#include "link.h"
#include "loading.h"
#include "note_keeper.h"
#include "picker.h"
#include "settings.h"
#include "splitters.h"

namespace canopy::inspector {

/// Functions that list and open sources. Empty functions: the source cannot be changed.
struct Sources {
  Picker::Find find;
  Picker::Attach attach, open;  ///< opens a feed by its name, a recording by its path
};

/// The inspector without its window: everything between ImGui::NewFrame and ImGui::Render, the same for a window, a
/// picture and a test.
class App {
 public:
  App(std::unique_ptr<Link> link, const Settings& settings);
  /// Shows the available feeds until one of them is chosen.
  App(std::unique_ptr<Picker> picker, const Settings& settings);

  /// Lets the user choose another source from now on, and attaches again when an engine with the name of an ended feed
  /// starts.
  void offer(Sources sources);
  /// Shows another source from now on.
  void connect(std::unique_ptr<Link> link);
  /// Shows the source that came back after its end, once no earlier moment is shown: the list of sources stays open if
  /// it is.
  void connect_again(std::unique_ptr<Link> link);
  /// Function that writes a file with a text. Returns a message for the user: where it is, or why it could not be
  /// written.
  using Save = std::function<std::string(const std::string& name, const std::string& text)>;
  /// Lets the user export tables and traces from now on.
  void offer_exports(Save save);
  /// Keeps the notes of recordings from now on.
  void offer_notes(NoteStore store) { notes_.offer(std::move(store)); }
  static constexpr const char* kPictureFile = "canopy-picture.png";
  /// Returns true if the user wants the frame that was drawn last as a picture, in kPictureFile. Then call saved().
  bool picture_wanted() { return std::exchange(selection_.exports.picture, false); }
  /// Shows a message about a file that was written.
  void saved(std::string message);
  /// Opens the list of commands.
  void open_commands() { commands_.open(*this); }
  const CommandList& commands() const { return commands_; }
  /// Returns the feeds that can be shown; none where the source cannot be changed.
  std::vector<FoundFeed> found_feeds() const { return sources_.find ? sources_.find() : std::vector<FoundFeed>(); }
  /// Shows a feed. If it cannot be attached to, a message says why.
  void attach(const std::string& name);
  /// The inspector's own needs. The front sets them after each frame.
  struct Cost {
    double frame_ms = 0;       ///< time to make the last frame
    std::uint64_t memory = 0;  ///< bytes in use by the program, or by the page's module; 0: not known
    std::uint64_t frames = 0;  ///< drawn so far
    double worst_ms = 0;       ///< longest of the latest frames, at most a hundred
  };
  void spent(double frame_ms, std::uint64_t memory);
  const Cost& cost() const { return cost_; }
  /// Opens the list of sources; closes it if it is open and there is a current source.
  void choose();

  /// Applies the events that have arrived, and sends the requested commands. Returns false if there are more events
  /// than the budget allows.
  bool pump(std::chrono::milliseconds budget);
  /// Returns true if a recording, or the kept past of a live feed, is being read and has not reached the wanted moment.
  /// Panels are drawn once it has.
  bool loading() const { return behind_; }
  /// Returns a number that differs whenever there is another moment or state to draw.
  std::uint64_t changes() const;
  /// Stops reading; the recording stays at the moment reached so far.
  void stop_loading();
  const Loading& loading_panel() const { return loading_; }
  /// Returns true if drawing this moment took so long that the next moment should wait, to keep zooming and panning
  /// smooth.
  bool resting() const { return std::chrono::steady_clock::now() < rests_until_; }
  void draw();
  /// Puts the text of the panel under the mouse into the clipboard, if the user wants it. Call it after ImGui::Render.
  void copy_wanted_text();
  /// Returns true if the theme or scale has changed since the last call: before the next frame, call apply_theme and
  /// make a new font texture.
  bool theme_changed() { return std::exchange(theme_changed_, false); }

  Settings settings() const;
  Selection& selection() { return selection_; }
  const Selection& selection() const { return selection_; }
  Timeline& time() { return time_; }
  const Timeline& time() const { return time_; }
  Mailbox& mailbox() { return mailbox_; }
  const Mailbox& mailbox() const { return mailbox_; }
  const Session& session() const { return session_; }
  const Mirror& mirror() const { return mirror_; }
  /// Returns the mirror that the tree shows: that of the pools, or that of the tier below.
  const Mirror& shown() const { return selection_.tier && mirror_.below() ? *mirror_.below() : mirror_; }
  const TreeIndex& tree() const { return index_; }
  Scene scene() { return {shown(), index_, selection_, mailbox_, session_, time_, mirror_, figures_, shares_}; }
  TreePanel& tree_panel() { return panel<TreePanel>(); }
  const TreePanel& tree_panel() const { return panel<TreePanel>(); }
  /// Returns the list of sources; null while it is closed.
  const Picker* picker() const { return picker_.get(); }

  /// Returns the panel of a class. REQUIRES: the table has one.
  template <class Kind>
  Kind& panel() const {
    for (const auto& each : panels_)
      if (auto* found = dynamic_cast<Kind*>(each.get())) return *found;
    std::abort();
  }
  /// Shows the panel or tab with this key: brings a tab to the front, or lets a panel, a page or the tab in front fill
  /// the window; if it already does, shows all panels again.
  void show_panel(char key);
  /// Lets the panel, page or tab with this key fill the window. Does nothing if there is none.
  void fill_window(char key);
  /// Brings the tab with this key to the front of the tabs. Does nothing if there is none.
  void bring_to_front(char key);
  /// Returns the key of the tab in front.
  char tab_in_front() const { return shown_tab_ ? panels()[*shown_tab_].key : first_tab(); }
  /// Returns the key of the tab that is in front at first.
  static char first_tab();
  /// Brings the tab with this title to the front. Returns false if there is none.
  bool open_tab(std::string_view title);
  /// Returns the key of the panel that fills the window; 0 if none does.
  char full_window() const { return full_window_ ? panels()[*full_window_].key : '\0'; }
  /// Returns the title of the tab in front; empty before the first frame.
  std::string_view front_tab() const { return shown_tab_ ? panels()[*shown_tab_].title : std::string_view(); }
  /// Shows all panels again. Returns false if they were already shown.
  bool leave_full_window();

  /// Pauses or continues the engine, the picture or the playback, depending on the feed.
  void toggle_pause();
  /// See TreePanel::step_search.
  bool step_search(bool back);
  /// Handles Esc: closes, leaves or clears one thing, the most recent first.
  void go_back();
  void turn_theme();
  void scale_by(float step);

 private:
  App(std::unique_ptr<Link> link, std::unique_ptr<Picker> picker, const Settings& settings);
  void make_panels();
  void attach_again();
  void update();
  void draw_panels(Scene& scene, const Layout& layout, bool bars_below);
  void draw_content(std::size_t panel, Scene& scene);
  void draw_tabs(Scene& scene, const Area& area);
  void draw_chooser(Scene& scene, const Area& area);
  void look_under_mouse(const Area& area, std::string_view title);

  Sources sources_;
  Save save_;
  std::unique_ptr<Picker> picker_;
  std::unique_ptr<Link> link_;
  std::unique_ptr<Link> next_link_;  ///< source to show after link_, as soon as the time is not held; may be null
  std::chrono::steady_clock::time_point next_look_{};  ///< next look for an engine with an ended engine's name
  Settings settings_;
  Mirror mirror_;
  Session session_;
  Selection selection_;
  Mailbox mailbox_;
  Timeline time_;
  TreeIndex index_;
  TierShares shares_;
  Figured figures_;
  std::vector<std::unique_ptr<Panel>> panels_;  ///< in the order of the table
  /// Indices in the table. front_: the tab to bring to the front; shown_tab_: the one that is there.
  std::optional<std::size_t> full_window_, front_, shown_tab_;
  bool small_ = false;  ///< the window has room for one panel only, which then fills it
  /// Area of the panel under the mouse in the last frame; without one, all of the window.
  Area under_mouse_;
  std::string_view title_under_mouse_;
  std::chrono::steady_clock::time_point rests_until_{};
  bool theme_changed_ = true;
  bool behind_ = false;  ///< see loading()
  Loading loading_;
  Splitters splitters_;
  CommandList commands_;
  Cost cost_;
  NoteKeeper notes_;
  NoteField note_field_;
};

}  // namespace canopy::inspector
