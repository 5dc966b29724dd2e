#pragma once

#include <imgui.h>

#include <deque>
#include <utility>

namespace canopy::inspector {

/// The mouse between two frames. Dear ImGui sees only what is true at a frame: a press and a move within one frame
/// would be a press at the later place. So the buttons change once a frame, at the place where they did.
class MouseQueue {
 public:
  /// Adds what the mouse did: its place, and the buttons that are down then, a bit each.
  void add(ImVec2 at, unsigned buttons) {
    // A move takes the place of the one before it.
    if (!events_.empty() && events_.back().buttons == buttons &&
        (events_.size() == 1 ? now_.buttons : before_last()) == buttons)
      events_.back().at = at;
    else events_.push_back({at, buttons});
    seen_ = true;
  }
  /// Adds a move: the buttons stay as they are.
  void move(ImVec2 at) { add(at, last_buttons()); }
  /// Adds a press or a release of a button, where the mouse is.
  void press(unsigned button, bool down) {
    const unsigned bit = 1U << button;
    add(events_.empty() ? now_.at : events_.back().at, down ? last_buttons() | bit : last_buttons() & ~bit);
  }
  /// Passes on the events up to the next change of the buttons. Call it before ImGui::NewFrame. Returns true if more
  /// are left for the next frame.
  bool pass(ImGuiIO& io) {
    if (!seen_) return false;
    for (bool changed = false; !events_.empty() && !changed; events_.pop_front())
      changed = std::exchange(now_, events_.front()).buttons != events_.front().buttons;
    io.MousePos = now_.at;
    for (unsigned i = 0; i < 3; ++i) io.MouseDown[i] = (now_.buttons >> i & 1) != 0;
    return !events_.empty();
  }

 private:
  struct Event {
    ImVec2 at{};
    unsigned buttons = 0;
  };
  unsigned last_buttons() const { return events_.empty() ? now_.buttons : events_.back().buttons; }
  unsigned before_last() const { return events_[events_.size() - 2].buttons; }

  std::deque<Event> events_;
  Event now_;  ///< as ImGui has it
  bool seen_ = false;
};

}  // namespace canopy::inspector
