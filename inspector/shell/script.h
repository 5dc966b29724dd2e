#pragma once

#include <functional>
#include <istream>
#include <string>

#include "canvas.h"

namespace canopy::inspector {

/// Lines that drive the inspector without hands, for pictures and tests:
///
///   wait                   until the engine of another process has sent what there is, 10 s at most
///   requests 600           let the demo engine run until so many requests have come, and no further
///   click X Y              also: double X Y, right X Y, move X Y, drag X Y TO_X TO_Y, wheel X Y STEPS
///   click node 12          in the middle of its box in the tree; also: double, right
///   key f                  a character, or Escape, Left, Right, Up, Down, Home, End, Enter, Space
///   type #12               characters into what has the keyboard
///   select node 12         also: select request 5, select heaviest (the leaf with most tokens, if there is one)
///   tab CONTROLS           brings a tab to the front
///   colour hits            state, last use, hits, namespace
///   view nodes             or icicle
///   seek 50%               or a commit; of a recording
///   screenshot out.png
///   # begins a comment; empty lines are skipped
struct Script {
  /// Lets the demo engine run until so many requests have come, and returns then. Empty: there is no demo engine.
  std::function<void(std::uint64_t)> run_to;

  /// Empty, or `LINE: why it could not be done`.
  std::string run(std::istream& lines, Canvas& canvas, App& app) const;
};

/// Waits until the attached feed has told the engine's state. Empty, or why nothing came. Returns at once if no feed is
/// attached.
std::string wait_until_shown(App& app);

/// Takes all events that have come, and draws until the layout is stable.
void settle(Canvas& canvas, App& app);

}  // namespace canopy::inspector
