#pragma once

#include <canopy/engine/engine.h>

#include <cache/control/pins.h>
#include <cache/control/remote_control.h>
#include <cache/drain/drainer.h>
#include <cache/pages/page_flow.h>
#include <cache/publish/publisher.h>
#include <cache/request/request_flow.h>
#include <cache/tenants/retentions.h>
#include <cache/tenants/tenants.h>
#include <tiers/tier_flow.h>

namespace canopy {

/// The state of an engine and the parts that work on it. A part knows only the parts above it.
struct Engine::Impl {
  std::unique_ptr<const Registry> own_registry;  ///< May be null (the caller keeps it). It outlives everything it made
  std::unique_ptr<Publisher> publisher;  ///< may be null (no feed). It outlives the index, which writes to its feed
  CacheState state;
  PageFlow pages{state};
  Drainer drainer{pages};
  Retentions retentions{pages, drainer};
  RequestFlow requests;
  TierFlow tiers;
  Tiers tiers_handle{tiers};
  Pins pins{pages, drainer};
  RemoteControl control;
  std::size_t sent_spaces = 1;  ///< namespaces that the tenants and the feed know; each knows the shared one

  Impl(const Registry& registry, const EngineConfig& config)
      : requests(pages, drainer, retentions, config.insert_at_finish),
        tiers(requests, pages, drainer, config.recompute),
        control(pages, drainer, retentions, pins, registry) {}
  /// Returns a group's pool. Throws std::out_of_range if there is no such group.
  const Pool& pool(std::size_t group) const;
};

}  // namespace canopy
