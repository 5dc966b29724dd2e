#pragma once

#include <canopy/base/result.h>

#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <sources/found_feed.h>
#include <views/draw.h>
#include "link.h"

namespace canopy::inspector {

/// The list of available feeds, refreshed twice a second. While it is empty, the picker waits, and attaches to the
/// first feed that appears.
class Picker {
 public:
  using Find = std::function<std::vector<FoundFeed>()>;
  /// Returns a link; null if the source is opened later, by App::connect.
  using Attach = std::function<Result<std::unique_ptr<Link>>(const std::string& name)>;
  /// `open` opens a recording. May be empty (only feeds are offered). `waits`: while there is no feed, waits and
  /// attaches to the first one that appears.
  Picker(Find find, Attach attach, Attach open = {}, bool waits = true)
      : find_(std::move(find)), attach_(std::move(attach)), open_(std::move(open)), waiting_(waits) {}

  /// Refreshes the list every half second. Returns the link to the chosen feed, once; null while none is chosen.
  std::unique_ptr<Link> look();
  /// Makes the next look() refresh the list in any case.
  void look_soon() { next_ = {}; }
  /// Draws the list. REQUIRES: look() was called.
  void draw(const Area& area);

  const std::vector<FoundFeed>& feeds() const { return feeds_; }
  const std::string& under_cursor() const { return cursor_; }
  const std::string& complaint() const { return complaint_; }
  /// Gets the middle, on the screen, of the row with this name. Returns false if it was not drawn last time.
  bool middle_of(const std::string& name, ImVec2& at) const;

 private:
  void keys();
  void draw_table();
  void draw_file();

  Find find_;
  Attach attach_, open_;
  std::vector<FoundFeed> feeds_;
  std::string cursor_;     ///< name of the feed that Enter chooses
  std::string chosen_;     ///< name of the feed to attach to at the next look()
  std::string complaint_;  ///< reason why attaching to the chosen feed failed
  bool waiting_;           ///< true while no feed has been alive so far
  std::array<char, 4096> path_{};
  bool open_wanted_ = false;
  std::chrono::steady_clock::time_point next_{};
  std::unordered_map<std::string, ImVec2> rows_;
};

}  // namespace canopy::inspector
