#pragma once

#include <canopy/engine/engine.h>
#include <replay/replay.h>
#include <workload/request_source.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>

/// The demo that `canopy demo` runs, and an inspector without arguments.
namespace canopy::demo {

/// Returns requests of four kinds of tenants for a pool of 150,000 tokens: prefixes are evicted often, but about sixty
/// per cent of the prompt tokens are found. Reads no file.
std::unique_ptr<workload::RequestSource> requests(std::uint64_t seed);

/// Returns the engine for these requests. `settings` as for --set, such as "store=none"; `store` keeps the rows.
Result<std::unique_ptr<Engine>> make_engine(const Registry& registry, std::span<const std::string> settings,
                                            const std::string& store = "host");

/// Returns the way in which the requests reach the engine.
replay::Options options();

}  // namespace canopy::demo
