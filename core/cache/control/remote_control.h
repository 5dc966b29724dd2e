#pragma once

#include <canopy/base/registry.h>
#include <canopy/feed/header.h>

#include <string>

#include <cache/cache_state.h>
#include <cache/drain/drainer.h>
#include <cache/pages/page_flow.h>
#include <cache/tenants/retentions.h>
#include "pins.h"

namespace canopy {

/// Executes the commands of inspectors, which arrive in the feed's header.
class RemoteControl {
 public:
  RemoteControl(PageFlow& pages, Drainer& drainer, Retentions& retentions, Pins& pins, const Registry& registry)
      : pages_(pages),
        state_(pages.state()),
        drainer_(drainer),
        retentions_(retentions),
        pins_(pins),
        registry_(registry) {}

  /// Executes all pending commands. Returns false while the engine is paused.
  bool poll();

 private:
  void take_commands(FeedHeader& header);
  void obey(const Command& command);
  void pause(std::string because);
  void go_on();
  void run_until(const Command& command);

  PageFlow& pages_;
  CacheState& state_;
  Drainer& drainer_;
  Retentions& retentions_;
  Pins& pins_;
  const Registry& registry_;
  std::uint64_t commands_done_ = 0, steps_left_ = 0;
};

}  // namespace canopy
