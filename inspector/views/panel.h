#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "scene.h"

namespace canopy::inspector {

/// A panel or a tab. It draws the mirror's state, and writes what was clicked into the selection and the requested
/// commands into the mailbox. It keeps only its scroll position and what it computed for the current moment.
class Panel {
 public:
  virtual ~Panel() = default;
  /// Draws into the open window or tab. The last item so far is the title, or the note if there is one.
  virtual void draw(Scene& scene) = 0;
  /// Returns the text beside the title. May be empty (none).
  virtual std::string note(const Scene&) const { return {}; }
};

/// Rows of the window from top to bottom, and the tabs, which share the end of the bottom row. `header`, `health` and
/// `time` are bars: they have no title and are always on the screen. A `page` has no place among the panels: it is on
/// the screen only while it fills the window.
enum class Row : std::uint8_t { header, health, top, middle, bottom, time, tab, page };

/// Time that the figures of a panel are of. Its head has a word for it: "moment" (the operation that is shown), "until
/// here" (all that was seen up to that moment), "range" (the selected one), or "whole" (all the time there is).
enum class FiguresOf : std::uint8_t {
  none,  ///< no figures, or they say it themselves
  moment,
  until_here,
  listed,    ///< the range if one is selected; otherwise until here
  past,      ///< the range if one is selected; otherwise the whole time
  selected,  ///< the moment for a selected node; otherwise `past`
};
/// Returns that word; empty for `none`.
std::string_view figures_word(FiguresOf of, const Scene& scene);

/// A panel's entry in the table of panels.
struct PanelInfo {
  const char* title;
  Row row;
  unsigned share = 100;  ///< share of the row's width, relative to the other panels in it; all tabs share one place
  char key = 0;          ///< key that brings a tab to the front, or lets a panel or page fill the window; 0 for a bar
  const char* help;      ///< question that the panel answers, in one line
  std::unique_ptr<Panel> (*make)();
  FiguresOf figures = FiguresOf::none;
  /// Message that replaces the panel if the feed is made from KV events of other servers, which do not report its
  /// content. May be null (they do).
  const char* not_in_events = nullptr;

  /// True if the panel shows nodes or the owners of pages, which an index may not report (Mirror::no_nodes).
  bool needs_nodes = false;
  /// True if it can show the tier below the pools (Selection::tier); all other panels show the pools and the requests.
  bool shows_tier = false;

  bool is_bar() const { return row == Row::header || row == Row::health || row == Row::time; }
};

template <class Kind>
std::unique_ptr<Panel> make_panel() {
  return std::make_unique<Kind>();
}

}  // namespace canopy::inspector
