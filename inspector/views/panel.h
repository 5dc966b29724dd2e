#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "scene.h"

namespace canopy::inspector {

/// A panel or a tab. It draws what the mirror says, writes what was clicked into the selection and what was asked for
/// into the mailbox. It keeps only how it is scrolled and what it computed for the moment that is shown.
class Panel {
 public:
  virtual ~Panel() = default;
  /// Draws into the window or the tab that is open. The last item so far is the title or the note, if there is one.
  virtual void draw(Scene& scene) = 0;
  /// Words beside the title; empty: none.
  virtual std::string note(const Scene&) const { return {}; }
};

/// The rows of the window from top to bottom, and the tabs, which share the end of the bottom row. `header`, `health`
/// and `time` are bars: they show no title and are on the screen at all times. A `page` has no place among the panels:
/// it is on the screen while it fills the window.
enum class Row : std::uint8_t { header, health, top, middle, bottom, time, tab, page };

/// What the table of panels says of one.
struct PanelInfo {
  const char* title;
  Row row;
  unsigned share = 100;  ///< of the row's width, in proportion to the others in it; all tabs share one place
  char key = 0;          ///< a tab comes to the front, a panel or a page fills the window; 0 for a bar
  const char* help;      ///< the question it answers, in one line
  std::unique_ptr<Panel> (*make)();
  /// What it says instead where the feed is made from KV events of other servers, which do not tell what it shows;
  /// null: they do.
  const char* not_in_events = nullptr;

  /// It shows nodes, or the owners of pages: an index may tell of none (Mirror::no_nodes).
  bool needs_nodes = false;
  /// It can show the tier below the pools (Selection::tier); any other panel shows the pools and the requests.
  bool shows_tier = false;

  bool is_bar() const { return row == Row::header || row == Row::health || row == Row::time; }
};

template <class Kind>
std::unique_ptr<Panel> make_panel() {
  return std::make_unique<Kind>();
}

}  // namespace canopy::inspector
