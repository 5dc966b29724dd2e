#include "layout.h"

#include <algorithm>
#include <cmath>

namespace canopy::inspector {

Layout lay_out_panels(float width, float height, float em) {
  const float gap = std::round(em * 0.3F);
  const float header = std::round(em * 2.1F), health = std::round(em * 3.6F), time = std::round(em * 2.1F);
  Layout layout;
  float y = gap;
  const auto row = [&](float tall) {
    const Area area{gap, y, width - 2 * gap, tall};
    y += tall + gap;
    return area;
  };
  layout.header = row(header);
  layout.health = row(health);
  // The tree has most to say; what is below it needs so many lines and not more.
  const float rest = std::max(0.F, height - y - time - 4 * gap);
  const float top = std::round(rest * 0.42F), middle = std::round(rest * 0.31F), bottom = rest - top - middle;
  const auto split = [&](float tall, std::initializer_list<float> shares, std::initializer_list<Area*> areas) {
    const Area all = row(tall);
    float x = all.x, wide = all.width - gap * static_cast<float>(areas.size() - 1), used = 0;
    auto share = shares.begin();
    for (Area* area : areas) {
      const bool last = share + 1 == shares.end();
      const float part = last ? wide - used : std::round(wide * *share);
      *area = {x, all.y, part, tall};
      x += part + gap, used += part;
      ++share;
    }
  };
  split(top, {0.62F, 0.38F}, {&layout.tree, &layout.node});
  split(middle, {0.30F, 0.36F, 0.34F}, {&layout.pool, &layout.sizes, &layout.leave});
  split(bottom, {0.62F, 0.38F}, {&layout.requests, &layout.tabs});
  layout.time = row(time);
  return layout;
}

}  // namespace canopy::inspector
