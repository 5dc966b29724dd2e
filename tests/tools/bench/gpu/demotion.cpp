/// An eviction that is copied down to the host tier: the time that it blocks the engine, and the rate of the copy.
#include <canopy/base/yaml_document.h>
#include <canopy/engine/engine.h>
#include <canopy/engine/engine_file.h>
#include <engine/state_of.h>
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "session.h"

namespace canopy::bench::gpu {
namespace {

constexpr std::uint64_t kPages = 1024;
constexpr Units kPageSize = 16;
constexpr std::uint32_t kRowBytes = 2048, kMostLayers = 32;
constexpr std::uint64_t kLayerBytes = std::uint64_t{2} * kRowBytes * kPageSize;  // bytes of a page

/// Returns an engine with a pool for three prompts of 1,024 pages, and a host tier for four.
std::unique_ptr<Engine> tiered_engine(const Registry& registry, std::uint32_t layers) {
  const auto document = parse_yaml(
      fmt::format("{{ page_size: {}, index: radix, groups: {{ full: {{ reach: path, capacity: {}, allocator: segments, "
                  "eviction: lru }} }}, store: {{ cuda: {{ layers: {}, streams: {{ k: {}, v: {} }}, headroom: 0 }} }}, "
                  "segment_pages: 1024, tiers: {{ host: {{ capacity: {} }} }}, feed: {{ off: {{}} }} }}",
                  kPageSize, 3 * kPages * kPageSize, layers, kRowBytes, kRowBytes, 4 * kPages * kPageSize),
      "bench");
  if (!document) throw std::runtime_error(document.error().text);
  auto config = read_engine_config(*document, registry);
  if (!config) throw std::runtime_error(config.error().text);
  config->host_tier.in_flight_bytes = kUnlimited;
  auto made = Engine::create(*config, registry);
  if (!made) throw std::runtime_error(made.error().text);
  return std::move(*made);
}

}  // namespace

void measure_demotion(Session& session) {
  const auto layers = static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(session.scale().moved / (kPages * kLayerBytes), 1, kMostLayers));
  const auto engine = tiered_engine(session.registry, layers);
  KVStore& store = *engine->store(0);
  const std::uint64_t bytes = kPages * store.image_bytes();
  std::vector<Token> prompt(kPages * kPageSize + 1);
  std::uint64_t now_us = 0, prompts = 0;
  const auto sync = [&] {
    if (const char* const failed = store.sync()) throw std::runtime_error(failed);
  };
  const auto fill = [&] {
    std::iota(prompt.begin(), prompt.end(), static_cast<Token>(++prompts * prompt.size()));
    RequestSpec spec;
    spec.prompt = prompt;
    spec.min_uncached = 1;
    Request request = engine->begin(spec);
    if (!request.reserve(static_cast<std::uint32_t>(prompt.size()))) throw std::runtime_error("the pool has no room");
    request.finish(static_cast<std::uint32_t>(prompt.size()));
    sync();
  };
  std::vector<double> calls, copies;
  const auto once = [&] {
    fill();
    const std::uint64_t room = engine->pool(0).limit();
    const double began = now();
    const bool freed = engine->make_free(0, room);
    calls.push_back(now() - began);
    sync();
    copies.push_back(now() - began);
    require(freed && state_of(*engine).below->moving[0] == kPages, "the pages of a prompt, on their way to the host");
    engine->turn(now_us += 60'000'000);
    require(state_of(*engine).below->moving[0] == 0, "those pages, on the host");
  };
  constexpr std::size_t kWarm = 6;  // after these the host tier is full and has its memory
  for (std::size_t i = 0; i < kWarm; ++i) once();
  calls.clear(), copies.clear();
  session.repeat(once);
  const Spread call = tenths_of(std::move(calls));
  session.time(fmt::format("the call that evicts {} pages of {}", kPages, quantity(store.image_bytes(), Unit::bytes)),
               call, "this thread's clock; index, host tier, and queueing the copy");
  session.at_most("demotion call", call.median, 20e-6, fmt::format("{:.1f} us", call.median * 1e6));
  session.rate(fmt::format("those pages until they are on the host, {}", quantity(bytes, Unit::bytes)), bytes,
               tenths_of(std::move(copies)), session.to_host, "this thread's clock, the call included");
  session.share_at_least("demotion", 0.85);
  if (const Ledger& ledger = engine->ledger(); ledger.violations() != 0)
    throw std::runtime_error("the ledger has violations");
}

}  // namespace canopy::bench::gpu
