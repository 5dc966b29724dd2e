#pragma once

#include <functional>
#include <istream>
#include <string>

#include "canvas.h"

namespace canopy::inspector {

/// Commands that drive the inspector without a user, for pictures and tests:
///
///   wait                   until the engine of another process has sent what there is, 10 s at most
///   requests 600           run the demo engine until this many requests have arrived, and no further
///   click X Y              also: double X Y, right X Y, move X Y, drag X Y TO_X TO_Y, wheel X Y STEPS
///   click node 12          in the middle of its box in the tree; also: double, right
///   key f                  a character, or Escape, Left, Right, Up, Down, Home, End, Enter, Space
///   type #12               characters into the field with the keyboard focus
///   select node 12         also: select request 5, select heaviest (the leaf with most tokens, if there is one)
///   tab CONTROLS           brings a tab to the front
///   colour hits            or state, last use, namespace, tier
///   view nodes             or icicle
///   seek 50%               or a commit; in a recording
///   range 20% 30%          or commits; `range none`
///   zoom 20% 30%           the timeline's window; `zoom none`
///   screenshot out.png
///   # begins a comment; empty lines are skipped
struct Script {
  /// Runs the demo engine until this many requests have arrived, then returns. May be empty (there is no demo engine).
  std::function<void(std::uint64_t)> run_to;

  /// Runs a script. Returns `LINE: reason` for the first line that cannot be done; empty if there is none.
  std::string run(std::istream& lines, Canvas& canvas, App& app) const;
};

/// Waits until the attached feed has sent the engine's state. Returns the reason if nothing arrives; empty otherwise.
/// Returns at once if no feed is attached.
std::string wait_until_shown(App& app);

/// Applies all events that have arrived, and draws until the layout is stable.
void settle(Canvas& canvas, App& app);

}  // namespace canopy::inspector
