#pragma once

#include <canopy/engine/engine.h>

#include <tiers/cost_model.h>
#include <tiers/fetch_flow.h>
#include <tiers/host_tier.h>
#include <tiers/turn_board.h>
#include "control/pins.h"
#include "control/remote_control.h"
#include "drain/drainer.h"
#include "pages/page_flow.h"
#include "publish/publisher.h"
#include "request/request_flow.h"

namespace canopy {

/// The state of an engine and the parts that work on it. A part knows only the parts above it.
struct Engine::Impl {
  std::unique_ptr<const Registry> own_registry;  ///< May be null (the caller keeps it). It outlives everything it made
  std::unique_ptr<Publisher> publisher;  ///< may be null (no feed). It outlives the index, which writes to its feed
  EngineState state;
  PageFlow pages{state};
  Drainer drainer{pages};
  RequestFlow requests;
  CostModel costs;
  std::unique_ptr<HostTier> tier;        ///< may be null (no such tier)
  std::unique_ptr<StorageTier> storage;  ///< may be null (no storage). It reads and fills the memory of the tier
  std::unique_ptr<FetchFlow> fetches;    ///< may be null (no tier)
  std::unique_ptr<TurnBoard> board;      ///< may be null (a single rank)
  Pins pins{pages, drainer};
  RemoteControl control;

  Impl(const Registry& registry, const EngineConfig& config)
      : requests(pages, drainer, config.insert_at_finish),
        costs(config.recompute),
        control(pages, drainer, pins, registry) {}
};

}  // namespace canopy
