#pragma once

#include <canopy/engine/engine.h>

#include <memory>
#include <span>
#include <string>

#include "replay.h"

namespace canopy::replay {

/// The engine that `canopy demo` and an inspector without arguments run: a pool small enough that prefixes leave all
/// the time. `settings` as for --set: "store=none". `store` is where its rows are.
Result<std::unique_ptr<Engine>> make_demo_engine(const Registry& registry, std::span<const std::string> settings,
                                                 const std::string& store = "host");

/// How the requests of workload::demo_workload reach it.
Options demo_options();

}  // namespace canopy::replay
