#pragma once

#include <vector>

#include "timeline_tracks.h"

namespace canopy::inspector {

/// The tenants' rows of the timeline. Seen from far, a row's colour is the tenant's hit rate; from near, a row has its
/// requests: waiting, prefill with the part that was hit, decoding, retracted.
class TimelineSpans {
 public:
  /// Decides how the rows are drawn. Returns the height that they need.
  float prepare(const TrackInput& in);
  /// Draws the rows as prepared. Returns the request under the mouse; null if there is none.
  const RequestSpan* draw(const TrackInput& in, const TrackArea& area);
  /// Gets the middle of a request's span, on the screen. Returns false if it is not drawn.
  bool middle_of(std::uint64_t request, ImVec2& at) const;
  /// Returns the row's tenant under the mouse; null if there is none.
  const History::Tenant* tenant_under() const { return under_; }

 private:
  struct Drawn {
    std::uint64_t request = 0;
    float x0 = 0, x1 = 0, y0 = 0, y1 = 0;
  };
  void draw_heat(const TrackInput& in, const TrackArea& area);
  const RequestSpan* draw_near(const TrackInput& in, const TrackArea& area);
  void name_row(const TrackInput& in, float words, float top, float bottom, std::uint32_t tenant);

  bool near_ = false;
  std::vector<std::uint32_t> rows_;  ///< tenants in sight
  std::vector<Drawn> drawn_;
  const History::Tenant* under_ = nullptr;
};

}  // namespace canopy::inspector
