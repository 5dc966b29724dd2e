#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include <imgui.h>

#include "panel.h"

namespace canopy::inspector {

/// The commands that the engine accepts, or a message why it accepts none. A button's position depends only on the
/// width of the window, and on the namespaces and policies in the order of their first use: no event moves a button. A
/// destructive command needs a held button (hold_button); a change of limit or policy can be undone.
class ControlsTab final : public Panel {
 public:
  void draw(Scene& scene) override;
  /// Gets the middle, on the screen, of the button with this name. Returns false if it was not drawn last time.
  bool middle_of(const std::string& name, ImVec2& at) const;
  /// Returns the names of the lines that are scrolled out of sight, as shown at the foot of the tab.
  const std::string& above() const { return above_; }
  const std::string& below() const { return below_; }

 private:
  /// Values before this user's changes, for undo; the latest is last.
  struct Before {
    std::vector<std::uint64_t> limits;  ///< tokens; may be kUnlimited
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
  std::uint64_t limit_ = 0;  ///< tokens, for the group `limit_of_`
  std::size_t limit_of_ = 0;
  std::array<Before, kMaxGroups> before_;
  std::uint64_t feed_ = 0;  ///< Session::feed to which `before_` belongs
  std::string above_, below_;
  std::unordered_map<std::string, ImVec2> buttons_;
};

}  // namespace canopy::inspector
