#pragma once

#include <canopy/base/result.h>

#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <sources/attachment.h>
#include <views/draw.h>
#include "link.h"

namespace canopy::inspector {

/// The list of feeds that can be attached to. It is refreshed twice a second. While it is empty the picker waits, and
/// attaches to the first feed that appears.
class Picker {
 public:
  using Find = std::function<std::vector<FoundFeed>()>;
  using Attach = std::function<Result<std::unique_ptr<Link>>(const std::string& name)>;
  /// `open` opens a recording; empty: only feeds are offered. `waits`: while there is no feed, it attaches to the first
  /// that appears.
  Picker(Find find, Attach attach, Attach open = {}, bool waits = true)
      : find_(std::move(find)), attach_(std::move(attach)), open_(std::move(open)), waiting_(waits) {}

  /// Refreshes the list when half a second has passed. Returns the link to the chosen feed, once; null while none is.
  std::unique_ptr<Link> look();
  /// The next look() refreshes the list in any case.
  void look_soon() { next_ = {}; }
  /// REQUIRES: look() was called.
  void draw(const Area& area);

  const std::vector<FoundFeed>& feeds() const { return feeds_; }
  const std::string& under_cursor() const { return cursor_; }
  const std::string& complaint() const { return complaint_; }
  /// Middle of the row of this name on the screen, if it was drawn last time.
  bool middle_of(const std::string& name, ImVec2& at) const;

 private:
  void keys();
  void draw_table();
  void draw_file();

  Find find_;
  Attach attach_, open_;
  std::vector<FoundFeed> feeds_;
  std::string cursor_;     ///< name of the feed that Enter chooses
  std::string chosen_;     ///< name; attached to at the next look()
  std::string complaint_;  ///< why the chosen feed could not be attached to
  bool waiting_;           ///< no feed was alive so far
  std::array<char, 4096> path_{};
  bool open_wanted_ = false;
  std::chrono::steady_clock::time_point next_{};
  std::unordered_map<std::string, ImVec2> rows_;
};

}  // namespace canopy::inspector
