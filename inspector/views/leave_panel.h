#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "panel.h"

namespace canopy::inspector {

/// The nodes that eviction takes next, in order, each with its rank.
class LeavePanel final : public Panel {
 public:
  std::string note(const Scene& scene) const override { return scene.pool().policy; }
  void draw(Scene& scene) override;

 private:
  static constexpr std::size_t kMost = 200;
  void draw_row(Scene& scene, std::size_t place) const;

  std::uint64_t at_ = ~std::uint64_t{0};
  std::size_t group_ = 0;
  std::vector<std::uint32_t> slots_;
};

}  // namespace canopy::inspector
