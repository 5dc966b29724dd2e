#pragma once

#include <canopy/engine/engine.h>
#include <canopy/engine/publisher.h>

#include "control/pins.h"
#include "control/remote_control.h"
#include "drain/drainer.h"
#include "pages/page_flow.h"
#include "request/request_flow.h"
#include "tiers/cost_model.h"
#include "tiers/fetch_flow.h"
#include "tiers/host_tier.h"
#include "tiers/turn_board.h"

namespace canopy {

/// An engine is its plain state and the parts that work on it. A part knows only parts above it.
struct Engine::Parts {
  std::unique_ptr<Publisher> publisher;  ///< null: no feed. It outlives the index, which writes to its feed
  EngineState state;
  PageFlow pages{state};
  Drainer drainer{pages};
  RequestFlow requests;
  CostModel costs;
  std::unique_ptr<HostTier> tier;        ///< null: there is none
  std::unique_ptr<StorageTier> storage;  ///< null: there is none. It reads and fills the memory of the tier
  std::unique_ptr<FetchFlow> fetches;    ///< null: there is no tier
  std::unique_ptr<TurnBoard> board;      ///< null: there is one rank
  Pins pins{pages, drainer};
  RemoteControl control;

  Parts(const Registry& registry, const EngineConfig& config)
      : requests(pages, drainer, config.insert_at_finish),
        costs(config.recompute),
        control(pages, drainer, pins, registry) {}
};

}  // namespace canopy
