#include "scene.h"

namespace canopy::inspector {

Notice notice_of(const Session& session, const Mirror& mirror) {
  switch (session.state) {
    case Session::State::gone:
      if (!mirror.in_step() && session.server_gone)
        return {session.detail, "No whole operation had arrived. The page tries again by itself."};
      if (!mirror.in_step())
        return {session.detail, "No whole operation had arrived. Start the engine again, then attach to it."};
      return {};
    default:
      break;
  }
  if (!mirror.in_step() && session.state == Session::State::recording)
    return {"The recording is damaged: up to this commit it has changes without the state to which they apply.",
            "End goes to the last commit, the arrow keys to the next or previous one."};
  if (!mirror.in_step() && mirror.commits() == 0)
    return {
        "Attached; waiting for the engine to send its state.",
        "The engine sends it with its next operation, or when it calls Engine::poll(). If nothing comes, it is idle: "
        "send it a request."};
  if (!mirror.in_step())
    return {"Events came faster than they could be read, and some were lost.",
            "The inspector has requested the whole state again. If this happens again, give the feed a longer ring: "
            "`events: 4M` in the engine's file."};
  return {};
}

}  // namespace canopy::inspector
