#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include <imgui.h>

#include "panel.h"

namespace canopy::inspector {

/// What may be asked of the engine, or a sentence why nothing may.
class ControlsTab final : public Panel {
 public:
  void draw(Scene& scene) override;
  /// Middle of the button of this name on the screen, if it was drawn last time.
  bool middle_of(const std::string& name, ImVec2& at) const;
  /// The lines that are scrolled out of sight, by name, as the foot of the tab says.
  const std::string& above() const { return above_; }
  const std::string& below() const { return below_; }

 private:
  void line(const char* what);
  bool button(const std::string& name);
  bool number_and_button(const char* name, std::uint64_t& number, const char* after);
  void draw_lines(Scene& scene);
  void draw_engine(Scene& scene);
  void draw_until(Scene& scene);
  void draw_pins(Scene& scene);
  void draw_evict(Scene& scene);
  void draw_limit(Scene& scene);
  void draw_policies(Scene& scene);
  void draw_flush(Scene& scene);

  std::uint64_t request_ = 0, pages_ = 64;
  std::uint64_t per_cent_ = 30;
  std::uint64_t limit_ = 0;  ///< tokens, of the group `limit_of_`
  std::size_t limit_of_ = 0;
  float tall_ = 0;  ///< all lines, in the frame before
  std::string above_, below_;
  std::unordered_map<std::string, ImVec2> buttons_;
};

}  // namespace canopy::inspector
