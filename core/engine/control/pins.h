#pragma once

#include <canopy/engine/state.h>

#include "drain/drainer.h"
#include "pages/page_flow.h"

namespace canopy {

/// Keeps nodes for a person, with locks as requests have them.
class Pins {
 public:
  Pins(PageFlow& pages, Drainer& drainer) : pages_(pages), state_(pages.state()), drainer_(drainer) {}

  /// See Engine::pin and Engine::unpin.
  bool pin(NodeId node);
  bool unpin(NodeId node);

 private:
  PageFlow& pages_;
  EngineState& state_;
  Drainer& drainer_;
};

}  // namespace canopy
