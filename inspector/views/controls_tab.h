#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include <imgui.h>

#include "panel.h"

namespace canopy::inspector {

/// What may be asked of the engine, or a sentence why nothing may. Where a button is depends on the width of the window
/// and on which namespaces and policies there are, in the order they came: nothing that happens moves one. What takes
/// something away must be held (hold_button); a limit and a policy can be taken back.
class ControlsTab final : public Panel {
 public:
  void draw(Scene& scene) override;
  /// Middle of the button of this name on the screen, if it was drawn last time.
  bool middle_of(const std::string& name, ImVec2& at) const;
  /// The lines that are scrolled out of sight, by name, as the foot of the tab says.
  const std::string& above() const { return above_; }
  const std::string& below() const { return below_; }

 private:
  /// What was there before this person changed it, to go back to; the last is the latest.
  struct Before {
    std::vector<std::uint64_t> limits;  ///< tokens; kUnlimited
    std::vector<std::string> policies;
  };
  void line(const char* what);
  void remember(const std::string& name);
  bool button(const std::string& name, float width = 0);
  bool hold(const std::string& name, const char* meaning, bool chosen = false, float width = 0);
  bool number_after(const char* name, std::uint64_t& number, const char* after);
  void draw_lines(Scene& scene);
  void draw_engine(Scene& scene);
  void draw_read_only(Mailbox& mailbox);
  void draw_until(Scene& scene);
  void draw_pins(Scene& scene);
  void draw_evict(Scene& scene);
  void draw_limit(Scene& scene);
  void draw_policies(Scene& scene);
  void draw_flush(Scene& scene);
  void draw_foot(const Scene& scene);

  std::uint64_t requests_ = 100, pages_ = 64;
  std::uint64_t per_cent_ = 30;
  std::uint64_t limit_ = 0;  ///< tokens, of the group `limit_of_`
  std::size_t limit_of_ = 0;
  std::array<Before, kMaxGroups> before_;
  std::uint64_t feed_ = 0;  ///< Session::feed that `before_` is of
  std::string above_, below_;
  std::unordered_map<std::string, ImVec2> buttons_;
};

}  // namespace canopy::inspector
