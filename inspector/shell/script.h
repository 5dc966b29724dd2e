#pragma once

#include <functional>
#include <istream>
#include <string>

#include "canvas.h"

namespace canopy::inspector {

/// Lines that drive the inspector without hands, for pictures and tests:
///
///   wait                   until the engine of another process has told what there is, 10 s at most
///   requests 600           let the demo engine run until so many requests have come, and no further
///   click X Y              also: double X Y, right X Y, move X Y, drag X Y TO_X TO_Y, wheel X Y STEPS
///   click node 12          in the middle of its box in the tree; also: double, right
///   key f                  a character, or Escape, Left, Right, Up, Down, Home, End, Enter, Space
///   type #12               characters into what has the keyboard
///   select node 12         also: select request 5, select heaviest (the leaf with most tokens, if there is one)
///   tab CONTROLS
///   colour hits            state, last use, hits, namespace
///   view nodes             or icicle
///   seek 50%               or a commit; of a recording
///   screenshot out.png
///   # and empty lines say nothing
struct Script {
  /// Lets the demo engine go on to so many requests, and returns when it is there. Empty: there is none.
  std::function<void(std::uint64_t)> run_to;

  /// Empty, or `LINE: why it could not be done`.
  std::string run(std::istream& lines, Canvas& canvas, App& app) const;
};

/// A picture shows what there is: waits until a feed that was attached to has told it. Empty, or why nothing came. Does
/// not wait while nothing is attached to.
std::string wait_until_shown(App& app);

/// Takes all that has come, and draws until nothing moves any more.
void settle(Canvas& canvas, App& app);

}  // namespace canopy::inspector
