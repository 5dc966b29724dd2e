#pragma once

#include <cache/cache_state.h>
#include <cache/drain/drainer.h>
#include <cache/pages/page_flow.h>

namespace canopy {

/// Keeps nodes on request of an inspector, with locks like those of requests.
class Pins {
 public:
  Pins(PageFlow& pages, Drainer& drainer) : pages_(pages), state_(pages.state()), drainer_(drainer) {}

  /// As Engine::pin and Engine::unpin.
  bool pin(NodeId node);
  bool unpin(NodeId node);

 private:
  PageFlow& pages_;
  CacheState& state_;
  Drainer& drainer_;
};

}  // namespace canopy
