#include "scene.h"

namespace canopy::inspector {

Notice notice_of(const Session& session, const Mirror& mirror) {
  switch (session.state) {
    case Session::State::gone:
      if (!mirror.in_step())
        return {session.detail, "No whole operation had arrived yet. Start the engine again, then attach to it."};
      return {};
    default:
      break;
  }
  if (!mirror.in_step() && session.state == Session::State::recording)
    return {"The recording is damaged: up to this commit it has changes without the state that they change.",
            "End goes to its last commit, the arrows to the next one and the one before."};
  if (!mirror.in_step() && mirror.commits() == 0)
    return {
        "Attached; waiting for the engine to tell what there is.",
        "It does so with its next operation, or when it calls Engine::poll(). If nothing comes, the engine is idle: "
        "send it a request."};
  if (!mirror.in_step())
    return {"Events came faster than they could be read, and some were lost.",
            "The engine has been asked to tell everything again. If this comes back, give the feed a longer ring: "
            "`events: 4M` in the engine's file."};
  return {};
}

}  // namespace canopy::inspector
